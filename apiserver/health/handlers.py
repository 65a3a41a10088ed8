"""GET /api/v1/health."""

from typing import Final

from aiohttp import web

from apiserver.errors import Detail, InternalError, InvalidRequestError
from apiserver.health.schemas import HealthAnswerSchema, HealthSchema
from apiserver.http import keys, responses
from apiserver.http.openapi import Answer, documented, failed
from apiserver.http.query import require_known

_VIEW: Final = HealthSchema()
_EXAMPLE: Final = {
    "data": {
        "startedAt": "2026-11-16T04:40:20Z",
        "uptimeSeconds": 3600,
        "version": "0.1.0",
        "kubernetesConnected": True,
        "kubernetesVersion": "v1.34.1",
        "nodeCount": 4,
        "readyNodeCount": 4,
        "totalGPUCapacity": 32,
        "totalGPUAllocatable": 32,
        "gpuProducts": ["NVIDIA-A100-SXM4-80GB"],
        "stockUnitCount": {"Ready": 12},
        "activeUnitCount": {"Progressing": 1, "Ready": 19},
        "queueConnected": True,
        "ageSeconds": 1.4,
    }
}
_UNKNOWN_PARAMETER: Final = InvalidRequestError(
    "the query has unknown parameters",
    details=(Detail("query.verbose", "there is no such parameter"),),
)


@documented(
    "health",
    "What is connected, and what the cluster holds",
    Answer(200, "Answered from memory, also while Kubernetes hangs.", HealthAnswerSchema, _EXAMPLE),
    failed(_UNKNOWN_PARAMETER),
    failed(InternalError()),
)
async def health(request: web.Request) -> web.Response:
    """Answer with the health of this process and of what it depends on."""
    require_known(request)
    report = request.app[keys.HEALTH].report()
    return responses.success(_VIEW.dump(report))
