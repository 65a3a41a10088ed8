"""A stop lets requests in flight finish, on a real socket."""

import asyncio

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.access import AccessRecorder
from apiserver.malformed import Fallback
from apiserver.process import Process
from apiserver.server import listening
from apiserver.services.cluster import OFF
from apiserver.services.readiness import Readiness
from shared.address import Address
from shared.exitcode import ExitCode


class SlowApp:
    """One route that answers when the test lets it."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.stopping = asyncio.Event()
        self.app = web.Application()
        self.app.router.add_get("/slow", self._slow)
        self.app.on_shutdown.append(self._on_shutdown)

    async def _slow(self, _: web.Request) -> web.Response:
        self.entered.set()
        await self.release.wait()
        return web.Response(text="finished")

    async def _on_shutdown(self, _: web.Application) -> None:
        self.stopping.set()


class Work:
    """Background work, which begins when the server listens."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_a_request_in_flight_finishes_before_the_background_work_ends(
    unused_tcp_port: int,
) -> None:
    slow, work, readiness = SlowApp(), Work(), Readiness(lambda: OFF)
    process = Process(readiness, {"work": work.run})
    address = Address("127.0.0.1", unused_tcp_port)
    fallback = Fallback(AccessRecorder(CollectorRegistry()), lambda: "id", head_timeout=60.0)
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(process.run(listening(slow.app, address, fallback)))
        await work.begun.wait()
        answer = group.create_task(_get(session, f"{address.url}/slow"))
        await slow.entered.wait()
        process.stop()
        await slow.stopping.wait()
        assert readiness.reasons() == ("the process is stopping",)
        assert not work.ended.is_set()
        slow.release.set()
        assert await answer == "finished"
        assert await running is ExitCode.CLEAN
    assert work.ended.is_set()


async def _get(session: aiohttp.ClientSession, url: str) -> str:
    async with session.get(url) as response:
        return await response.text()
