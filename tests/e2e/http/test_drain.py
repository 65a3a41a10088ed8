"""Graceful shutdown: no request is lost, in flight or on a kept-alive connection."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.health.cluster_state import KUBERNETES_OFF
from apiserver.health.readiness import Readiness
from apiserver.http import server
from apiserver.http.access_log import AccessLog
from apiserver.http.protocol import FallbackResponder
from apiserver.http.server import serve
from apiserver.process import Process
from shared.config.address import Address
from shared.config.exitcode import ExitCode
from tests.support.wait.eventually import eventually


class SlowApp:
    """An application with one fast route; the others wait until `release` is set."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.stopping = asyncio.Event()
        self.app = web.Application()
        self.app.router.add_get("/slow", self._slow)
        self.app.router.add_get("/long", self._long)
        self.app.router.add_post("/quick", self._quick)
        self.app.on_shutdown.append(self._on_shutdown)

    async def _slow(self, _: web.Request) -> web.Response:
        self.entered.set()
        await self.release.wait()
        return web.Response(text="finished")

    async def _long(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await self.release.wait()
        return response

    async def _quick(self, _: web.Request) -> web.Response:
        return web.Response(text="done")

    async def _on_shutdown(self, _: web.Application) -> None:
        self.stopping.set()


class Work:
    """Background work that begins when the server listens."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_a_request_in_flight_finishes_before_the_background_work_ends(
    unused_tcp_port: int,
) -> None:
    slow, work, readiness = SlowApp(), Work(), Readiness(lambda: KUBERNETES_OFF)
    process = Process(readiness, {"work": work.run})
    address, fallback = Address("127.0.0.1", unused_tcp_port), new_fallback()
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(process.run(serve(slow.app, address, fallback)))
        await work.started.wait()
        response = group.create_task(_get(session, f"{address.url}/slow"))
        await slow.entered.wait()
        process.stop()
        await slow.stopping.wait()
        assert readiness.not_ready_reasons() == ("the process is stopping",)
        assert not work.ended.is_set()
        slow.release.set()
        assert await response == "finished"
        assert await running is ExitCode.CLEAN
    assert work.ended.is_set()


async def test_a_kept_connection_gets_one_more_response_with_connection_close(
    unused_tcp_port: int,
) -> None:
    app, work, readiness = SlowApp().app, Work(), Readiness(lambda: KUBERNETES_OFF)
    process = Process(readiness, {"work": work.run})
    address = Address("127.0.0.1", unused_tcp_port)
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(process.run(serve(app, address, new_fallback())))
        await work.started.wait()
        first = await _post(session, f"{address.url}/quick")
        process.stop()
        await eventually(reasons_reader(readiness))
        last = await _post(session, f"{address.url}/quick")
        assert await running is ExitCode.CLEAN

    assert (first.status, first.headers.get("Connection")) == (200, None)
    assert (last.status, last.headers.get("Connection")) == (200, "close")


async def test_a_client_that_was_promised_keep_alive_may_send_one_more_request(
    unused_tcp_port: int,
) -> None:
    slow, work, readiness = SlowApp(), Work(), Readiness(lambda: KUBERNETES_OFF)
    process = Process(readiness, {"work": work.run})
    address = Address("127.0.0.1", unused_tcp_port)
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(process.run(serve(slow.app, address, new_fallback())))
        await work.started.wait()
        async with session.get(f"{address.url}/long") as response:
            process.stop()
            await eventually(reasons_reader(readiness))
            slow.release.set()
            await response.read()
        last = await _post(session, f"{address.url}/quick")
        assert await running is ExitCode.CLEAN

    assert (response.status, response.headers.get("Connection")) == (200, None)
    assert (last.status, last.headers.get("Connection")) == (200, "close")


async def test_an_idle_kept_connection_does_not_delay_the_shutdown(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "DRAIN_SECONDS", 0.0)
    app, work = SlowApp().app, Work()
    process = Process(Readiness(lambda: KUBERNETES_OFF), {"work": work.run})
    address = Address("127.0.0.1", unused_tcp_port)
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(process.run(serve(app, address, new_fallback())))
        await work.started.wait()
        await _post(session, f"{address.url}/quick")
        process.stop()
        assert await running is ExitCode.CLEAN


def new_fallback() -> FallbackResponder:
    return FallbackResponder(
        AccessLog(CollectorRegistry()), lambda: "id", head_timeout_seconds=60.0
    )


def reasons_reader(readiness: Readiness) -> Callable[[], Awaitable[tuple[str, ...]]]:
    async def read() -> tuple[str, ...]:
        return readiness.not_ready_reasons()

    return read


async def _post(session: aiohttp.ClientSession, url: str) -> aiohttp.ClientResponse:
    async with session.post(url) as response:
        await response.read()
        return response


async def _get(session: aiohttp.ClientSession, url: str) -> str:
    async with session.get(url) as response:
        return await response.text()
