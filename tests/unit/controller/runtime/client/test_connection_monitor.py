"""Tests of the connection monitor: the cluster must respond at startup, and may be lost later."""

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
    """Client with scripted responses; implements the part of RestClient that the monitor uses."""

    def __init__(self) -> None:
        self.response: Callable[[], ServerVersion] = lambda: SUPPORTED

    @property
    def server(self) -> str:
        return "https://k8s"

    async def send(self, request: KubeRequest, *, timeout_seconds: float) -> bytes:
        assert (request, timeout_seconds > 0) == (KubeRequest("GET", "/version"), True)
        return msgspec.json.encode(self.response())


def unreachable() -> ServerVersion:
    raise UnreachableError("https://k8s cannot be reached")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient()


async def test_the_connection_is_ready_after_the_first_response_of_the_cluster(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    connection = ConnectionMonitor(client, clock, check_server_version)
    assert connection.not_ready()
    await connection.wait_until_connected()
    assert connection.not_ready() == []


async def test_a_cluster_without_a_response_is_an_error_after_the_startup_timeout(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    client.response = unreachable
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(
            failure(ConnectionMonitor(client, clock, check_server_version).wait_until_connected())
        )
        await clock.advance(STARTUP_TIMEOUT_SECONDS - 1)
        assert not waiting.done()
        await clock.advance(3)
    assert "gave up after 30 s" in waiting.result()


async def test_a_cluster_with_an_old_version_is_refused_at_once(
    client: ScriptedClient, clock: VirtualClock
) -> None:
    client.response = lambda: OLD
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
        client.response = unreachable
        await clock.advance(5)
        assert "cannot be reached" in connection.not_ready()[0]
        client.response = lambda: SUPPORTED
        await clock.advance(5)
        assert connection.not_ready() == []
        running.cancel()


async def failure(work: Awaitable[None]) -> str:
    """Return the message of the error that `work` raises."""
    with pytest.raises(ClusterUnavailableError) as raised:
        await work
    return str(raised.value)
