"""GET /metrics."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from apiserver.http.openapi import ResponseDoc, documented

_METRICS_EXAMPLE: Final = """# HELP gpuruntime_http_in_flight Requests being answered.
# TYPE gpuruntime_http_in_flight gauge
gpuruntime_http_in_flight 1.0
"""


def metrics_handler(
    registry: CollectorRegistry,
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that shows what `registry` holds."""
    return documented(
        "probes",
        "What Prometheus reads",
        ResponseDoc(
            200,
            "As text, or as OpenMetrics where Accept asks for that.",
            example=_METRICS_EXAMPLE,
            media_type="text/plain",
        ),
    )(make_aiohttp_handler(registry))
