"""The application: routes, what they need, and what surrounds them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver import keys
from apiserver.access import AccessRecorder, access_records
from apiserver.assets import swagger_assets
from apiserver.clock import Clock
from apiserver.document import document
from apiserver.envelope import errors_as_json
from apiserver.request_id import add_header, request_ids
from apiserver.routes import routes
from apiserver.services.health import Health
from apiserver.services.readiness import Readiness

LARGEST_BODY: Final = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an application is made of."""

    version: str
    health: Health
    readiness: Readiness
    registry: CollectorRegistry
    recorder: AccessRecorder
    make_id: Callable[[], str]
    clock: Clock


def create_app(parts: Parts) -> web.Application:
    """Put an application together; it does nothing until a runner runs it."""
    ids, records = request_ids(parts.make_id), access_records(parts.recorder, parts.clock)
    app = web.Application(middlewares=[ids, records, errors_as_json], client_max_size=LARGEST_BODY)
    app.on_response_prepare.append(add_header)
    surface = routes(parts.registry)
    app.router.add_routes(surface)
    app[keys.HEALTH] = parts.health
    app[keys.READINESS] = parts.readiness
    app[keys.ASSETS] = swagger_assets()
    app[keys.DOCUMENT] = document(surface, parts.version)
    return app
