"""The routes of health, of the probes and of the metrics."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from apiserver.errors import ErrorDetail, InternalError, InvalidRequestError
from apiserver.health.readiness import Readiness
from apiserver.health.schemas import (
    HealthAnswerSchema,
    HealthSchema,
    ReasonsAnswerSchema,
    StatusAnswerSchema,
)
from apiserver.health.service import HealthService
from apiserver.http import responses
from apiserver.http.openapi import ResponseDoc, documented, error_doc
from apiserver.http.query import require_no_query

HEALTH: Final = web.AppKey("health", HealthService)
READINESS: Final = web.AppKey("readiness", Readiness)

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
    "the query is invalid; see the details",
    details=(ErrorDetail("query.verbose", "there is no such parameter"),),
)
_METRICS_EXAMPLE: Final = """# HELP gpuruntime_http_in_flight Requests in progress.
# TYPE gpuruntime_http_in_flight gauge
gpuruntime_http_in_flight 1.0
"""


@documented(
    "health",
    "Get the state of the connections, and the counts of nodes and units",
    ResponseDoc(
        200,
        "From memory, also while Kubernetes does not respond.",
        HealthAnswerSchema,
        _HEALTH_EXAMPLE,
    ),
    error_doc(_UNKNOWN_PARAMETER),
    error_doc(InternalError()),
)
async def get_health(request: web.Request) -> web.Response:
    """Return the health of this process, of its connections and of the cluster."""
    require_no_query(request)
    report = request.app[HEALTH].report()
    return responses.success(_HEALTH_SCHEMA.dump(report))


@documented(
    "probes",
    "Check that the process is alive",
    ResponseDoc(
        200, "Alive; no dependency is checked.", StatusAnswerSchema, {"data": {"status": "alive"}}
    ),
)
async def get_liveness(_: web.Request) -> web.Response:
    """Return a constant: a response proves that the process is alive."""
    return responses.success({"status": "alive"})


@documented(
    "probes",
    "Check that the process is ready for requests",
    ResponseDoc(200, "Ready.", StatusAnswerSchema, {"data": {"status": "ready"}}),
    ResponseDoc(
        503,
        "Not ready, with the reasons.",
        ReasonsAnswerSchema,
        {"data": {"reasons": ["the process is stopping"]}},
    ),
)
async def get_readiness(request: web.Request) -> web.Response:
    """Return whether the process is ready for requests."""
    reasons = request.app[READINESS].not_ready_reasons()
    if reasons:
        return responses.success({"reasons": reasons}, status=503)
    return responses.success({"status": "ready"})


def metrics_handler(
    registry: CollectorRegistry,
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Return a handler that serves the metrics of `registry`."""
    return documented(
        "probes",
        "Get the metrics for Prometheus",
        ResponseDoc(
            200,
            "As text, or as OpenMetrics if the Accept header requests it.",
            example=_METRICS_EXAMPLE,
            media_type="text/plain",
        ),
    )(make_aiohttp_handler(registry))
