"""Tests of the connection monitor: a cluster is needed at startup; its later loss is survived."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from controller.runtime.client.connection_monitor import (
    STARTUP_TIMEOUT_SECONDS,
    ClusterUnavailableError,
    ConnectionMonitor,
)
from controller.runtime.client.rest import KubeRequest
from controller.runtime.errors import UnreachableError
from shared.k8s.server_version import ServerVersion, check_server_version
from tests.support.clocks.virtual_clock import VirtualClock

SUPPORTED = ServerVersion(major="1", minor="36", git_version="v1.36.3")
OLD = ServerVersion(major="1", minor="32+", git_version="v1.32.9-vendor")


class ScriptedClient:
    """Client with scripted answers; implements the part of RestClient that the connection uses."""

    def __init__(self) -> None:
        self.answer: Callable[[], ServerVersion] = lambda: SUPPORTED

    @property
    def server(self) -> str:
        return "https://k8s"

    async def send(self, request: KubeRequest, *, timeout_seconds: float) -> bytes:
        assert (request, timeout_seconds > 0) == (KubeRequest("GET", "/version"), True)
        return msgspec.json.encode(self.answer())


def unreachable() -> ServerVersion:
    raise UnreachableError("https://k8s cannot be reached")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient()


async def test_the_connection_is_ready_once_the_cluster_has_answered(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    connection = ConnectionMonitor(client, clock, check_server_version)
    assert connection.not_ready()
    await connection.wait_until_connected()
    assert connection.not_ready() == []


async def test_a_cluster_that_never_answers_is_given_up(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    client.answer = unreachable
    async with asyncio.TaskGroup() as group:
        requiring = group.create_task(
            failure(ConnectionMonitor(client, clock, check_server_version).wait_until_connected())
        )
        await clock.advance(STARTUP_TIMEOUT_SECONDS - 1)
        assert not requiring.done()
        await clock.advance(3)
    assert "gave up after 30 s" in requiring.result()


async def test_a_cluster_that_is_too_old_is_refused_at_once(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    client.answer = lambda: OLD
    assert "v1.32.9-vendor" in await failure(
        ConnectionMonitor(client, clock, check_server_version).wait_until_connected()
    )


async def test_a_lost_cluster_makes_the_connection_not_ready_until_it_is_back(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    connection = ConnectionMonitor(client, clock, check_server_version)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(connection.run())
        await clock.advance(1)
        client.answer = unreachable
        await clock.advance(5)
        assert "cannot be reached" in connection.not_ready()[0]
        client.answer = lambda: SUPPORTED
        await clock.advance(5)
        assert connection.not_ready() == []
        running.cancel()


async def failure(work: Awaitable[None]) -> str:
    """Return the message of the error that `work` raises."""
    with pytest.raises(ClusterUnavailableError) as raised:
        await work
    return str(raised.value)
