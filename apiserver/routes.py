"""All routes of the API."""

from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.dashboard import handlers as dashboard
from apiserver.functions import handlers as functions
from apiserver.health import handlers as health
from apiserver.http import paths, swagger
from apiserver.invocations import body_handler
from apiserver.invocations import handlers as invocations
from apiserver.operations import handlers as operations
from apiserver.specs import handlers as specs
from apiserver.stock_pools import handlers as stock_pools
from apiserver.stock_units import handlers as stock_units
from apiserver.storages import handlers as storages
from apiserver.units import handlers as units

INVOCATION_PATH: Final = f"{paths.INVOCATIONS}/{{requestID}}/{{invocationID}}"


def create_routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Return every route; /metrics shows the metrics of `registry`."""
    return [
        web.get("/healthz", health.get_liveness),
        web.get("/readyz", health.get_readiness),
        web.get("/metrics", health.metrics_handler(registry)),
        web.get("/api/v1/health", health.get_health),
        web.post(paths.STOCK, stock_units.seed_stock),
        web.get(paths.STOCK, stock_units.list_stock_units),
        web.delete(f"{paths.STOCK}/{{name}}", stock_units.delete_stock_unit),
        web.post(paths.POOLS, stock_pools.create_pool),
        web.get(paths.POOLS, stock_pools.list_pools),
        web.get(f"{paths.POOLS}/{{name}}", stock_pools.get_pool),
        web.put(f"{paths.POOLS}/{{name}}", stock_pools.replace_pool),
        web.delete(f"{paths.POOLS}/{{name}}", stock_pools.delete_pool),
        web.get(paths.SPECS, specs.list_specs),
        web.get(paths.JOBS, operations.list_jobs),
        web.get(f"{paths.JOBS}/{{operationID:[^/]+}}", operations.get_job),
        web.post(paths.UNITS, units.create_unit),
        web.get(paths.UNITS, units.list_units),
        web.get(f"{paths.UNITS}/{{name}}", units.get_unit),
        web.put(f"{paths.UNITS}/{{name}}", units.change_unit),
        web.delete(f"{paths.UNITS}/{{name}}", units.delete_unit),
        web.post(paths.STORAGES, storages.create_storage),
        web.get(paths.STORAGES, storages.list_storages),
        web.get(f"{paths.STORAGES}/{{name}}", storages.get_storage),
        web.put(f"{paths.STORAGES}/{{name}}", storages.change_storage),
        web.delete(f"{paths.STORAGES}/{{name}}", storages.delete_storage),
        web.post(f"{paths.STORAGES}/{{name}}/recover", storages.recover_storage),
        web.post(paths.FUNCTIONS, functions.create_function),
        web.get(paths.FUNCTIONS, functions.list_functions),
        web.get(f"{paths.FUNCTIONS}/{{name}}", functions.get_function),
        web.put(f"{paths.FUNCTIONS}/{{name}}", functions.change_function),
        web.delete(f"{paths.FUNCTIONS}/{{name}}", functions.delete_function),
        web.post(f"{paths.FUNCTIONS}/{{requestID}}/invoke", invocations.invoke_function_raw),
        web.post(paths.INVOCATIONS, invocations.invoke_function),
        web.get(paths.INVOCATIONS, invocations.list_invocations),
        web.get(INVOCATION_PATH, invocations.get_invocation),
        web.delete(INVOCATION_PATH, invocations.cancel_invocation),
        web.get(f"{INVOCATION_PATH}/body", body_handler.get_result_body),
        web.post(f"{INVOCATION_PATH}/redrive", invocations.redrive_invocation),
        web.get(paths.DEAD_LETTERS, invocations.list_dead_letters),
        web.get("/ui", dashboard.get_page),
        web.get("/ui/", dashboard.get_page),
        web.get("/ui/events", dashboard.stream_events, allow_head=False),
        web.get("/ui/static/{name}", dashboard.get_asset),
        web.get("/swagger", swagger.get_page),
        web.get("/swagger/", swagger.get_page),
        web.get("/swagger/index.html", swagger.get_page),
        web.get("/swagger/doc.json", swagger.get_document),
        web.get("/swagger/static/{name}", swagger.get_asset),
    ]
