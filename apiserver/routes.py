"""The whole HTTP surface on one page."""

from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver import places
from apiserver.handlers import (
    functions,
    gpu_storages,
    gpu_units,
    health,
    invocation_body,
    invocations,
    jobs,
    metrics,
    probes,
    specs,
    stock_pools,
    stock_units,
    swagger,
    ui,
)

INVOCATION: Final = f"{places.INVOCATIONS}/{{requestID}}/{{invocationID}}"


def routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Every route; `registry` is what /metrics shows."""
    return [
        web.get("/healthz", probes.alive),
        web.get("/readyz", probes.ready),
        web.get("/metrics", metrics.metrics(registry)),
        web.get("/api/v1/health", health.health),
        web.post(places.STOCK, stock_units.seed),
        web.get(places.STOCK, stock_units.index),
        web.delete(f"{places.STOCK}/{{name}}", stock_units.delete),
        web.post(places.POOLS, stock_pools.create),
        web.get(places.POOLS, stock_pools.index),
        web.get(f"{places.POOLS}/{{name}}", stock_pools.show),
        web.put(f"{places.POOLS}/{{name}}", stock_pools.replace),
        web.delete(f"{places.POOLS}/{{name}}", stock_pools.delete),
        web.get(places.SPECS, specs.index),
        web.get(places.JOBS, jobs.index),
        web.get(f"{places.JOBS}/{{operationID:[^/]+}}", jobs.show),
        web.post(places.UNITS, gpu_units.create),
        web.get(places.UNITS, gpu_units.index),
        web.get(f"{places.UNITS}/{{name}}", gpu_units.show),
        web.put(f"{places.UNITS}/{{name}}", gpu_units.change),
        web.delete(f"{places.UNITS}/{{name}}", gpu_units.delete),
        web.post(places.STORAGES, gpu_storages.create),
        web.get(places.STORAGES, gpu_storages.index),
        web.get(f"{places.STORAGES}/{{name}}", gpu_storages.show),
        web.put(f"{places.STORAGES}/{{name}}", gpu_storages.change),
        web.delete(f"{places.STORAGES}/{{name}}", gpu_storages.delete),
        web.post(f"{places.STORAGES}/{{name}}/recover", gpu_storages.recover),
        web.post(places.FUNCTIONS, functions.create),
        web.get(places.FUNCTIONS, functions.index),
        web.get(f"{places.FUNCTIONS}/{{name}}", functions.show),
        web.put(f"{places.FUNCTIONS}/{{name}}", functions.change),
        web.delete(f"{places.FUNCTIONS}/{{name}}", functions.delete),
        web.post(f"{places.FUNCTIONS}/{{requestID}}/invoke", invocations.invoke_raw),
        web.post(places.INVOCATIONS, invocations.invoke),
        web.get(places.INVOCATIONS, invocations.index),
        web.get(INVOCATION, invocations.show),
        web.delete(INVOCATION, invocations.cancel),
        web.get(f"{INVOCATION}/body", invocation_body.body),
        web.post(f"{INVOCATION}/redrive", invocations.redrive),
        web.get(places.DEAD_LETTERS, invocations.dead_letters),
        web.get("/ui", ui.page),
        web.get("/ui/", ui.page),
        web.get("/ui/events", ui.events, allow_head=False),
        web.get("/ui/static/{name}", ui.static),
        web.get("/swagger", swagger.page),
        web.get("/swagger/", swagger.page),
        web.get("/swagger/index.html", swagger.page),
        web.get("/swagger/doc.json", swagger.doc),
        web.get("/swagger/static/{name}", swagger.static),
    ]
