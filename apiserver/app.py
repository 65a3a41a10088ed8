"""The application: routes, what they need, and what surrounds them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.dashboard.assets import load_ui_assets
from apiserver.dashboard.broadcaster import DashboardBroadcaster
from apiserver.functions.port import FunctionServicePort
from apiserver.health.readiness import Readiness
from apiserver.health.service import HealthService
from apiserver.http import keys
from apiserver.http.access_log import AccessLog, access_log_middleware
from apiserver.http.auth import auth_middleware
from apiserver.http.background import run_background_tasks
from apiserver.http.byte_budget import ByteBudget
from apiserver.http.deadline import RequestTimeLimits, deadline_middleware
from apiserver.http.long_poll import LongPolls
from apiserver.http.openapi import build_openapi
from apiserver.http.request_id import add_request_id_header, request_id_middleware
from apiserver.http.responses import error_responses_middleware
from apiserver.http.swagger import load_swagger_assets
from apiserver.http.tokens import TokenSet
from apiserver.invocations.port import InvocationListsPort, InvocationServicePort
from apiserver.limits import RequestLimits
from apiserver.operations.port import JobServicePort
from apiserver.routes import create_routes
from apiserver.specs.port import SpecServicePort
from apiserver.stock_pools.port import PoolServicePort
from apiserver.stock_units.port import StockServicePort
from apiserver.storages.port import StorageServicePort
from apiserver.units.port import UnitServicePort


@dataclass(frozen=True, slots=True, kw_only=True)
class AppComponents:
    """What an application is made of; routes whose use cases are None answer 503.

    Without `tokens` nobody is asked for one.
    """

    version: str
    health: HealthService
    readiness: Readiness
    registry: CollectorRegistry
    access_log: AccessLog
    make_id: Callable[[], str]
    clock: Clock
    request_limits: RequestLimits
    time_limits: RequestTimeLimits
    tokens: Callable[[], TokenSet] | None = None
    stock: StockServicePort | None = None
    pools: PoolServicePort | None = None
    specs: SpecServicePort | None = None
    jobs: JobServicePort | None = None
    units: UnitServicePort | None = None
    storages: StorageServicePort | None = None
    functions: FunctionServicePort | None = None
    invocations: InvocationServicePort | None = None
    invocation_lists: InvocationListsPort | None = None
    dashboard: DashboardBroadcaster | None = None


def create_app(components: AppComponents) -> web.Application:
    """Put an application together; it does nothing until a runner runs it."""
    ids, records = (
        request_id_middleware(components.make_id),
        access_log_middleware(components.access_log, components.clock),
    )
    guards = [auth_middleware(components.tokens)] if components.tokens else []
    app = web.Application(
        middlewares=[
            ids,
            records,
            error_responses_middleware,
            *guards,
            deadline_middleware(components.time_limits),
        ],
        client_max_size=0,  # every route has a limit of its own
    )
    app.on_response_prepare.append(add_request_id_header)
    app.on_shutdown.append(_stop_long_polls)
    app.cleanup_ctx.append(_run_background_tasks)
    surface = create_routes(components.registry)
    app.router.add_routes(surface)
    app[keys.SWAGGER_ASSETS] = load_swagger_assets()
    app[keys.UI_ASSETS] = load_ui_assets()
    # Making it takes 50 ms of a start, and most replicas are never asked for it.
    made_once: Callable[[], Mapping[str, object]] = cache(
        partial(build_openapi, surface, components.version)
    )
    app[keys.OPENAPI_DOCUMENT] = made_once
    _set_app_keys(app, components)
    return app


def _set_app_keys(app: web.Application, components: AppComponents) -> None:
    app[keys.HEALTH] = components.health
    app[keys.READINESS] = components.readiness
    app[keys.REQUEST_LIMITS] = components.request_limits
    app[keys.LONG_POLLS] = LongPolls()
    app[keys.BYTE_BUDGET] = ByteBudget(components.request_limits.max_in_flight_bytes)
    app[keys.STOCK] = components.stock
    app[keys.POOLS] = components.pools
    app[keys.SPECS] = components.specs
    app[keys.JOBS] = components.jobs
    app[keys.UNITS] = components.units
    app[keys.STORAGES] = components.storages
    app[keys.FUNCTIONS] = components.functions
    app[keys.INVOCATIONS] = components.invocations
    app[keys.INVOCATION_LISTS] = components.invocation_lists
    app[keys.DASHBOARD] = components.dashboard


async def _stop_long_polls(app: web.Application) -> None:
    app[keys.LONG_POLLS].stop()


async def _run_background_tasks(app: web.Application) -> AsyncIterator[None]:
    async with run_background_tasks() as work:
        app[keys.BACKGROUND_TASKS] = work
        yield
