"""The application: routes, what they need, and what surrounds them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.dashboard.assets import ui_assets
from apiserver.dashboard.broadcaster import Feed
from apiserver.functions.port import Functions
from apiserver.health.readiness import Readiness
from apiserver.health.service import Health
from apiserver.http import keys
from apiserver.http.access_log import AccessRecorder, access_records
from apiserver.http.auth import authorisation
from apiserver.http.background import detached_work
from apiserver.http.byte_budget import InFlightBytes
from apiserver.http.deadline import Allowance, deadlines
from apiserver.http.long_poll import Waits
from apiserver.http.openapi import document
from apiserver.http.request_id import add_header, request_ids
from apiserver.http.responses import errors_as_json
from apiserver.http.static_files import swagger_assets
from apiserver.http.tokens import Tokens
from apiserver.invocations.port import InvocationIndex, Invocations
from apiserver.limits import Limits
from apiserver.operations.port import Jobs
from apiserver.routes import routes
from apiserver.specs.port import Specs
from apiserver.stock_pools.port import Pools
from apiserver.stock_units.port import Stock
from apiserver.storages.port import Storages
from apiserver.units.port import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an application is made of; routes whose use cases are None answer 503.

    Without `tokens` nobody is asked for one.
    """

    version: str
    health: Health
    readiness: Readiness
    registry: CollectorRegistry
    recorder: AccessRecorder
    make_id: Callable[[], str]
    clock: Clock
    limits: Limits
    allowance: Allowance
    tokens: Callable[[], Tokens] | None = None
    stock: Stock | None = None
    pools: Pools | None = None
    specs: Specs | None = None
    jobs: Jobs | None = None
    units: Units | None = None
    storages: Storages | None = None
    functions: Functions | None = None
    invocations: Invocations | None = None
    invocation_index: InvocationIndex | None = None
    feed: Feed | None = None


def create_app(parts: Parts) -> web.Application:
    """Put an application together; it does nothing until a runner runs it."""
    ids, records = request_ids(parts.make_id), access_records(parts.recorder, parts.clock)
    guards = [authorisation(parts.tokens)] if parts.tokens else []
    app = web.Application(
        middlewares=[ids, records, errors_as_json, *guards, deadlines(parts.allowance)],
        client_max_size=0,  # every route has a limit of its own
    )
    app.on_response_prepare.append(add_header)
    app.on_shutdown.append(_end_waits)
    app.cleanup_ctx.append(_detached)
    surface = routes(parts.registry)
    app.router.add_routes(surface)
    app[keys.ASSETS] = swagger_assets()
    app[keys.UI_ASSETS] = ui_assets()
    # Making it takes 50 ms of a start, and most replicas are never asked for it.
    made_once: Callable[[], Mapping[str, object]] = cache(partial(document, surface, parts.version))
    app[keys.DOCUMENT] = made_once
    _provide(app, parts)
    return app


def _provide(app: web.Application, parts: Parts) -> None:
    app[keys.HEALTH] = parts.health
    app[keys.READINESS] = parts.readiness
    app[keys.LIMITS] = parts.limits
    app[keys.WAITS] = Waits()
    app[keys.IN_FLIGHT] = InFlightBytes(parts.limits.max_in_flight_bytes)
    app[keys.STOCK] = parts.stock
    app[keys.POOLS] = parts.pools
    app[keys.SPECS] = parts.specs
    app[keys.JOBS] = parts.jobs
    app[keys.UNITS] = parts.units
    app[keys.STORAGES] = parts.storages
    app[keys.FUNCTIONS] = parts.functions
    app[keys.INVOCATIONS] = parts.invocations
    app[keys.INVOCATION_INDEX] = parts.invocation_index
    app[keys.FEED] = parts.feed


async def _end_waits(app: web.Application) -> None:
    app[keys.WAITS].stop()


async def _detached(app: web.Application) -> AsyncIterator[None]:
    async with detached_work() as work:
        app[keys.DETACHED] = work
        yield
