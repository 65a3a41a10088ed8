"""An application that is called without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from aiohttp import StreamReader, web
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry

from apiserver.app import Parts, create_app
from apiserver.health.cluster_state import OFF
from apiserver.health.readiness import Readiness
from apiserver.health.service import Health
from apiserver.http.access_log import AccessRecorder
from apiserver.http.deadline import Allowance
from apiserver.kube.port import Link
from apiserver.limits import Limits
from tests.support.clocks.auto_advance_clock import VirtualClock

JSON = "application/json"
ALLOWANCE = Allowance(60.0, 60.0)


@dataclass(frozen=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: Any
    json: Any

    @property
    def error(self) -> str:
        code = self.json["error"]["code"]
        assert isinstance(code, str)
        return code


@dataclass(frozen=True)
class API:
    """Calls handlers through the router and the middlewares, as a server does."""

    app: web.Application

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, b"", **headers)

    async def delete(self, path: str, **headers: str) -> Answer:
        return await self.call("DELETE", path, b"", **headers)

    async def post(self, path: str, body: object, **headers: str) -> Answer:
        return await self.call("POST", path, json.dumps(body).encode(), **headers)

    async def put(self, path: str, body: object, **headers: str) -> Answer:
        return await self.call("PUT", path, json.dumps(body).encode(), **headers)

    async def call(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        payload = payload_of()
        payload.feed_data(body)
        payload.feed_eof()
        return await self.send(method, path, payload, **headers)

    async def send(self, method: str, path: str, payload: StreamReader, **headers: str) -> Answer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        request = make_mocked_request(
            method,
            path,
            headers={"Content-Type": JSON, **given},
            payload=payload,
            app=self.app,
            client_max_size=128 * 1024,
        )
        response = await self.app._handle(request)
        assert isinstance(response, web.Response)
        return Answer(response.status, response.headers, json.loads(response.text or "null"))


def payload_of() -> StreamReader:
    """A body that is still to come."""
    return StreamReader(mock.Mock(), 2**16, loop=asyncio.get_running_loop())


@asynccontextmanager
async def running(allowance: Allowance = ALLOWANCE, **services: Any) -> AsyncIterator[API]:
    """An application with these services for the length of the block."""
    app = application(allowance, **services)
    runner = web.AppRunner(app)
    await runner.setup()
    yield API(app)
    await runner.cleanup()


def application(allowance: Allowance, **services: Any) -> web.Application:
    """An application that knows of no cluster but has these services."""
    clock, registry = VirtualClock(), CollectorRegistry()
    return create_app(
        Parts(
            version="0.1.0",
            health=Health("0.1.0", clock, lambda: OFF, lambda: Link(connected=False)),
            readiness=Readiness(lambda: OFF),
            registry=registry,
            recorder=AccessRecorder(registry),
            make_id=lambda: "id",
            clock=clock,
            limits=Limits(),
            allowance=allowance,
            **services,
        )
    )
