"""GET /healthz and /readyz, for the kubelet."""

from aiohttp import web

from apiserver import envelope, keys
from apiserver.document import Answer, documented
from apiserver.schemas.probes import ReasonsAnswerSchema, StatusAnswerSchema


@documented(
    "probes",
    "Whether the process is alive",
    Answer(200, "Depends on nothing.", StatusAnswerSchema, {"data": {"status": "alive"}}),
)
async def alive(_: web.Request) -> web.Response:
    """Answer that the process answers."""
    return envelope.success({"status": "alive"})


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
        return envelope.success({"reasons": reasons}, status=503)
    return envelope.success({"status": "ready"})
