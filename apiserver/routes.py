"""The whole HTTP surface on one page."""

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from apiserver.handlers import health, probes, swagger


def routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Every route; `registry` is what /metrics shows."""
    return [
        web.get("/healthz", probes.alive),
        web.get("/readyz", probes.ready),
        web.get("/metrics", make_aiohttp_handler(registry)),
        web.get("/api/v1/health", health.health),
        web.get("/swagger", swagger.page),
        web.get("/swagger/", swagger.page),
        web.get("/swagger/index.html", swagger.page),
        web.get("/swagger/doc.json", swagger.doc),
        web.get("/swagger/static/{name}", swagger.static),
    ]
