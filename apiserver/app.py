"""The aiohttp application: routes, middlewares, and the services that handlers find."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.config import RequestLimits
from apiserver.dashboard.handlers import UI_ASSETS, load_ui_assets
from apiserver.http import keys
from apiserver.http.access_log import AccessLog, access_log_middleware
from apiserver.http.auth import auth_middleware
from apiserver.http.background import run_background_tasks
from apiserver.http.body import ByteBudget
from apiserver.http.deadline import RequestTimeLimits, deadline_middleware
from apiserver.http.keys import ProvidedService
from apiserver.http.long_poll import LongPolls
from apiserver.http.openapi import build_openapi
from apiserver.http.request_id import add_request_id_header, request_id_middleware
from apiserver.http.responses import error_responses_middleware
from apiserver.http.swagger import load_swagger_assets
from apiserver.http.tokens import TokenSet
from apiserver.routes import create_routes
from shared.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AppComponents:
    """The parts of an application; a route whose service is not provided responds with 503.

    Without `tokens` every caller is accepted.
    """

    version: str
    services: Sequence[ProvidedService[Any]]
    registry: CollectorRegistry
    access_log: AccessLog
    make_id: Callable[[], str]
    clock: Clock
    request_limits: RequestLimits
    time_limits: RequestTimeLimits
    tokens: Callable[[], TokenSet] | None = None


def create_app(components: AppComponents) -> web.Application:
    """Build the application; nothing runs before a runner starts it."""
    guards = [auth_middleware(components.tokens)] if components.tokens else []
    app = web.Application(
        middlewares=[
            request_id_middleware(components.make_id),
            access_log_middleware(components.access_log, components.clock),
            error_responses_middleware,
            *guards,
            deadline_middleware(components.time_limits),
        ],
        client_max_size=0,  # every route has a limit of its own
    )
    app.on_response_prepare.append(add_request_id_header)
    app.on_shutdown.append(_stop_long_polls)
    app.cleanup_ctx.append(_run_background_tasks)
    routes = create_routes(components.registry)
    app.router.add_routes(routes)
    app[keys.SWAGGER_ASSETS] = load_swagger_assets()
    app[UI_ASSETS] = load_ui_assets()
    # Building the document takes 50 ms, and most processes never serve it.
    document: Callable[[], Mapping[str, object]] = cache(
        partial(build_openapi, routes, components.version)
    )
    app[keys.OPENAPI_DOCUMENT] = document
    app[keys.REQUEST_LIMITS] = components.request_limits
    app[keys.LONG_POLLS] = LongPolls()
    app[keys.BYTE_BUDGET] = ByteBudget(components.request_limits.max_in_flight_bytes)
    for provided in components.services:
        provided.set_in(app)
    return app


async def _stop_long_polls(app: web.Application) -> None:
    app[keys.LONG_POLLS].stop()


async def _run_background_tasks(app: web.Application) -> AsyncIterator[None]:
    async with run_background_tasks() as tasks:
        app[keys.BACKGROUND_TASKS] = tasks
        yield
