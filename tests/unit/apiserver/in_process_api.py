"""Application that tests call without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

from aiohttp import StreamReader, web
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry

from apiserver.app import AppComponents, create_app
from apiserver.config import RequestLimits
from apiserver.dashboard.handlers import DASHBOARD
from apiserver.functions.handlers import FUNCTIONS
from apiserver.health.cluster_state import KUBERNETES_OFF
from apiserver.health.handlers import HEALTH, READINESS
from apiserver.health.readiness import Readiness
from apiserver.health.service import HealthService
from apiserver.http.access_log import AccessLog
from apiserver.http.deadline import RequestTimeLimits
from apiserver.http.keys import ProvidedService
from apiserver.http.tokens import TokenSet
from apiserver.invocations.handlers import INVOCATION_ACCEPTOR, INVOCATION_LISTS, INVOCATIONS
from apiserver.nats.port import ConnectionStatus
from apiserver.operations.handlers import JOBS
from apiserver.specs.handlers import SPECS
from apiserver.stock_pools.handlers import POOLS
from apiserver.stock_units.handlers import STOCK
from apiserver.storages.handlers import STORAGES
from apiserver.units.handlers import UNITS
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock

JSON = "application/json"
TIME_LIMITS = RequestTimeLimits(60.0, 60.0)
KEYS: Final[dict[str, web.AppKey[Any]]] = {
    "acceptor": INVOCATION_ACCEPTOR,
    "dashboard": DASHBOARD,
    "functions": FUNCTIONS,
    "health": HEALTH,
    "invocation_lists": INVOCATION_LISTS,
    "invocations": INVOCATIONS,
    "jobs": JOBS,
    "pools": POOLS,
    "readiness": READINESS,
    "specs": SPECS,
    "stock": STOCK,
    "storages": STORAGES,
    "units": UNITS,
}


@dataclass(frozen=True)
class ApiResponse:
    """Response that was read to its end."""

    status: int
    headers: Any
    json: Any

    @property
    def error_code(self) -> str:
        code = self.json["error"]["code"]
        assert isinstance(code, str)
        return code


@dataclass(frozen=True)
class InProcessApi:
    """In-process API that calls handlers through the router and the middlewares, like a server."""

    app: web.Application

    async def get(self, path: str, **headers: str) -> ApiResponse:
        return await self.request("GET", path, b"", **headers)

    async def delete(self, path: str, **headers: str) -> ApiResponse:
        return await self.request("DELETE", path, b"", **headers)

    async def post(self, path: str, body: object, **headers: str) -> ApiResponse:
        return await self.request("POST", path, json.dumps(body).encode(), **headers)

    async def put(self, path: str, body: object, **headers: str) -> ApiResponse:
        return await self.request("PUT", path, json.dumps(body).encode(), **headers)

    async def request(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> ApiResponse:
        payload = new_payload()
        payload.feed_data(body)
        payload.feed_eof()
        return await self.request_with_payload(method, path, payload, **headers)

    async def request_with_payload(
        self, method: str, path: str, payload: StreamReader, **headers: str
    ) -> ApiResponse:
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = make_mocked_request(
            method,
            path,
            headers={"Content-Type": JSON, **sent_headers},
            payload=payload,
            app=self.app,
            client_max_size=128 * 1024,
        )
        response = await self.app._handle(request)
        assert isinstance(response, web.Response)
        return ApiResponse(response.status, response.headers, json.loads(response.text or "null"))


def new_payload() -> StreamReader:
    """Return a request body that has received no data yet."""
    return StreamReader(mock.Mock(), 2**16, loop=asyncio.get_running_loop())


@asynccontextmanager
async def run_app(
    time_limits: RequestTimeLimits = TIME_LIMITS,
    tokens: Callable[[], TokenSet] | None = None,
    **services: object,
) -> AsyncIterator[InProcessApi]:
    """Run an application with these services for the length of the block."""
    app = new_app(time_limits, tokens, **services)
    runner = web.AppRunner(app)
    await runner.setup()
    yield InProcessApi(app)
    await runner.cleanup()


def new_app(
    time_limits: RequestTimeLimits,
    tokens: Callable[[], TokenSet] | None = None,
    **services: object,
) -> web.Application:
    """Build an application without a cluster; `services` have the names in `KEYS`."""
    clock, registry = AutoAdvanceClock(), CollectorRegistry()
    health = HealthService(
        "0.1.0", clock, lambda: KUBERNETES_OFF, lambda: ConnectionStatus(connected=False)
    )
    all_services = {"health": health, "readiness": Readiness(lambda: KUBERNETES_OFF), **services}
    return create_app(
        AppComponents(
            version="0.1.0",
            services=[
                ProvidedService(KEYS[name], service) for name, service in all_services.items()
            ],
            registry=registry,
            access_log=AccessLog(registry),
            make_id=lambda: "id",
            clock=clock,
            request_limits=RequestLimits(),
            time_limits=time_limits,
            tokens=tokens,
        )
    )
