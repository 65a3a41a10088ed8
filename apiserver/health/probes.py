"""GET /healthz and /readyz, for the kubelet."""

from aiohttp import web

from apiserver.health.probe_schemas import ReasonsAnswerSchema, StatusAnswerSchema
from apiserver.http import keys, responses
from apiserver.http.openapi import ResponseDoc, documented


@documented(
    "probes",
    "Whether the process is alive",
    ResponseDoc(200, "Depends on nothing.", StatusAnswerSchema, {"data": {"status": "alive"}}),
)
async def get_liveness(_: web.Request) -> web.Response:
    """Answer that the process answers."""
    return responses.success({"status": "alive"})


@documented(
    "probes",
    "Whether to send requests here",
    ResponseDoc(200, "Ready.", StatusAnswerSchema, {"data": {"status": "ready"}}),
    ResponseDoc(
        503,
        "Not ready, and why.",
        ReasonsAnswerSchema,
        {"data": {"reasons": ["the process is stopping"]}},
    ),
)
async def get_readiness(request: web.Request) -> web.Response:
    """Answer whether requests should come here."""
    reasons = request.app[keys.READINESS].not_ready_reasons()
    if reasons:
        return responses.success({"reasons": reasons}, status=503)
    return responses.success({"status": "ready"})
