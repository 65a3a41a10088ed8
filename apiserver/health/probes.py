"""GET /healthz and /readyz, for the kubelet."""

from aiohttp import web

from apiserver.health.probe_schemas import ReasonsAnswerSchema, StatusAnswerSchema
from apiserver.http import keys, responses
from apiserver.http.openapi import Answer, documented


@documented(
    "probes",
    "Whether the process is alive",
    Answer(200, "Depends on nothing.", StatusAnswerSchema, {"data": {"status": "alive"}}),
)
async def alive(_: web.Request) -> web.Response:
    """Answer that the process answers."""
    return responses.success({"status": "alive"})


@documented(
    "probes",
    "Whether to send requests here",
    Answer(200, "Ready.", StatusAnswerSchema, {"data": {"status": "ready"}}),
    Answer(
        503,
        "Not ready, and why.",
        ReasonsAnswerSchema,
        {"data": {"reasons": ["the process is stopping"]}},
    ),
)
async def ready(request: web.Request) -> web.Response:
    """Answer whether requests should come here."""
    reasons = request.app[keys.READINESS].reasons()
    if reasons:
        return responses.success({"reasons": reasons}, status=503)
    return responses.success({"status": "ready"})
