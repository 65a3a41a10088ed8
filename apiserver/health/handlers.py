"""GET /api/v1/health."""

from typing import Final

from aiohttp import web

from apiserver.errors import ErrorDetail, InternalError, InvalidRequestError
from apiserver.health.schemas import HealthAnswerSchema, HealthSchema
from apiserver.http import keys, responses
from apiserver.http.openapi import ResponseDoc, documented, error_doc
from apiserver.http.query import require_no_query

_HEALTH_SCHEMA: Final = HealthSchema()
_HEALTH_EXAMPLE: Final = {
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
    details=(ErrorDetail("query.verbose", "there is no such parameter"),),
)


@documented(
    "health",
    "What is connected, and what the cluster holds",
    ResponseDoc(
        200,
        "Answered from memory, also while Kubernetes hangs.",
        HealthAnswerSchema,
        _HEALTH_EXAMPLE,
    ),
    error_doc(_UNKNOWN_PARAMETER),
    error_doc(InternalError()),
)
async def get_health(request: web.Request) -> web.Response:
    """Answer with the health of this process and of what it depends on."""
    require_no_query(request)
    report = request.app[keys.HEALTH].report()
    return responses.success(_HEALTH_SCHEMA.dump(report))
