"""A viewer that does not read is disconnected and frees its slot, on a real socket."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from apiserver.clock import SystemClock
from apiserver.dashboard import handlers
from apiserver.dashboard.broadcaster import DashboardBroadcaster
from apiserver.dashboard.snapshot import ClusterSnapshot
from tests.support.http.event_stream import EVENTS_PATH, open_event_stream
from tests.support.wait.eventually import eventually
from tests.unit.apiserver.dashboard.snapshot_objects import new_unit, with_reason
from tests.unit.apiserver.in_process_api import TIME_LIMITS, new_app

BUFFER_BYTES = 4096
ACCEPTED = b"HTTP/1.1 200 OK"


class ChangingSnapshotSource:
    """A source of large snapshots; every snapshot is different."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    async def collect(self) -> ClusterSnapshot:
        message = f"{next(self._numbers)} " * 100
        unit = with_reason(new_unit("u", "Failed"), "PodStartupFailed", message)
        return ClusterSnapshot(units=(unit,) * 200)


class FastClock(SystemClock):
    """A clock whose sleeps are almost zero."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 1000)


@asynccontextmanager
async def run_dashboard(port: int) -> AsyncIterator[str]:
    """Run an API with a slot for one viewer; yield its URL."""
    broadcaster = DashboardBroadcaster(ChangingSnapshotSource(), FastClock(), max_viewers=1)
    runner = web.AppRunner(new_app(TIME_LIMITS, dashboard=broadcaster), shutdown_timeout=1.0)
    await runner.setup()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(broadcaster.run())
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{port}"
        task.cancel()
    await runner.cleanup()


async def status_of_a_viewer(url: str) -> int:
    async with open_event_stream(url) as viewer:
        return viewer.response.status


async def test_a_viewer_that_does_not_read_is_disconnected(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "WRITE_TIMEOUT_SECONDS", 0.2)
    async with run_dashboard(unused_tcp_port) as url:
        with socket.socket() as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            idle.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(idle, ("127.0.0.1", unused_tcp_port))
            await loop.sock_sendall(idle, f"GET {EVENTS_PATH} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert await loop.sock_recv(idle, len(ACCEPTED)) == ACCEPTED
            await eventually(lambda: status_of_a_viewer(url), lambda status: status == 200)


async def test_a_reading_viewer_stays_connected_and_frees_its_slot_on_disconnect(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "WRITE_TIMEOUT_SECONDS", 60.0)
    async with run_dashboard(unused_tcp_port) as url:
        async with open_event_stream(url) as viewer:
            event_ids = {(await viewer.next_view()).event_id for _ in range(50)}
            assert len(event_ids) == 50
        await eventually(lambda: status_of_a_viewer(url), lambda status: status == 200)
