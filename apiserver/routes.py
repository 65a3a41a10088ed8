"""The whole HTTP surface on one page."""

from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.dashboard import handlers as dashboard
from apiserver.functions import handlers as functions
from apiserver.health import handlers as health
from apiserver.health import metrics, probes
from apiserver.http import paths, swagger
from apiserver.invocations import body_handler
from apiserver.invocations import handlers as invocations
from apiserver.operations import handlers as operations
from apiserver.specs import handlers as specs
from apiserver.stock_pools import handlers as stock_pools
from apiserver.stock_units import handlers as stock_units
from apiserver.storages import handlers as storages
from apiserver.units import handlers as units

INVOCATION: Final = f"{paths.INVOCATIONS}/{{requestID}}/{{invocationID}}"


def routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Every route; `registry` is what /metrics shows."""
    return [
        web.get("/healthz", probes.alive),
        web.get("/readyz", probes.ready),
        web.get("/metrics", metrics.metrics(registry)),
        web.get("/api/v1/health", health.health),
        web.post(paths.STOCK, stock_units.seed),
        web.get(paths.STOCK, stock_units.index),
        web.delete(f"{paths.STOCK}/{{name}}", stock_units.delete),
        web.post(paths.POOLS, stock_pools.create),
        web.get(paths.POOLS, stock_pools.index),
        web.get(f"{paths.POOLS}/{{name}}", stock_pools.show),
        web.put(f"{paths.POOLS}/{{name}}", stock_pools.replace),
        web.delete(f"{paths.POOLS}/{{name}}", stock_pools.delete),
        web.get(paths.SPECS, specs.index),
        web.get(paths.JOBS, operations.index),
        web.get(f"{paths.JOBS}/{{operationID:[^/]+}}", operations.show),
        web.post(paths.UNITS, units.create),
        web.get(paths.UNITS, units.index),
        web.get(f"{paths.UNITS}/{{name}}", units.show),
        web.put(f"{paths.UNITS}/{{name}}", units.change),
        web.delete(f"{paths.UNITS}/{{name}}", units.delete),
        web.post(paths.STORAGES, storages.create),
        web.get(paths.STORAGES, storages.index),
        web.get(f"{paths.STORAGES}/{{name}}", storages.show),
        web.put(f"{paths.STORAGES}/{{name}}", storages.change),
        web.delete(f"{paths.STORAGES}/{{name}}", storages.delete),
        web.post(f"{paths.STORAGES}/{{name}}/recover", storages.recover),
        web.post(paths.FUNCTIONS, functions.create),
        web.get(paths.FUNCTIONS, functions.index),
        web.get(f"{paths.FUNCTIONS}/{{name}}", functions.show),
        web.put(f"{paths.FUNCTIONS}/{{name}}", functions.change),
        web.delete(f"{paths.FUNCTIONS}/{{name}}", functions.delete),
        web.post(f"{paths.FUNCTIONS}/{{requestID}}/invoke", invocations.invoke_raw),
        web.post(paths.INVOCATIONS, invocations.invoke),
        web.get(paths.INVOCATIONS, invocations.index),
        web.get(INVOCATION, invocations.show),
        web.delete(INVOCATION, invocations.cancel),
        web.get(f"{INVOCATION}/body", body_handler.body),
        web.post(f"{INVOCATION}/redrive", invocations.redrive),
        web.get(paths.DEAD_LETTERS, invocations.dead_letters),
        web.get("/ui", dashboard.page),
        web.get("/ui/", dashboard.page),
        web.get("/ui/events", dashboard.events, allow_head=False),
        web.get("/ui/static/{name}", dashboard.static),
        web.get("/swagger", swagger.page),
        web.get("/swagger/", swagger.page),
        web.get("/swagger/index.html", swagger.page),
        web.get("/swagger/doc.json", swagger.doc),
        web.get("/swagger/static/{name}", swagger.static),
    ]
