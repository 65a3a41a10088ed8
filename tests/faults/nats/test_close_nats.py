"""Closing of NATS connections: every program can close its connection, in any state."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from nats.aio.client import Client

from hack.cluster.nats_server import NATSServer
from serverless.nats.cancellation import preserve_cancellation
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.queue.nats_users import NATS_USERS
from tests.support.wait.eventually import eventually

TIMEOUT_SECONDS: Final = 30.0
MEBIBYTE: Final = b"x" * 1024 * 1024
FLOOD_SECONDS: Final = 1.0

Fault = Callable[[TCPProxy, Client], Awaitable[None]]


async def test_a_nats_connection_closes_while_the_server_is_gone(nats_server: NATSServer) -> None:
    async def refuse(proxy: TCPProxy, client: Client) -> None:
        proxy.refuse()
        proxy.cut()
        await eventually(lambda: asyncio.sleep(0, client.is_reconnecting))
        await client.publish("no.subscriber", b"this is sent when it is connected again")

    await close_all_programs(nats_server, refuse)


async def test_a_nats_connection_closes_while_the_server_does_not_read(
    nats_server: NATSServer,
) -> None:
    async def stall(proxy: TCPProxy, client: Client) -> None:
        proxy.stall()
        await flood(client)

    await close_all_programs(nats_server, stall)


async def close_all_programs(server: NATSServer, fault: Fault) -> None:
    async with asyncio.TaskGroup() as group:
        for program in NATS_USERS:
            group.create_task(close_program(program, server, fault))


async def close_program(program: str, server: NATSServer, fault: Fault) -> None:
    """Inject a fault into the connection, cancel the program, and require that it ends."""
    target = urlsplit(server.url)
    async with TCPProxy(target.hostname or "", target.port or 0).serve() as proxy:
        user = NATS_USERS[program](server.admin_url.replace(f":{target.port}", f":{proxy.port}"))
        async with user.connected() as task:
            client = user.current_client()
            assert client is not None
            await fault(proxy, client)
            task.cancel()
            _, running = await asyncio.wait([task], timeout=TIMEOUT_SECONDS)
            assert not running, f"{program}: is cancelled but does not end"
            assert task.cancelled(), f"{program}: {task.exception()!r}"


async def flood(client: Client) -> None:
    """Send until the connection accepts no more."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FLOOD_SECONDS):
            while True:
                with preserve_cancellation():
                    await client.publish("no.subscriber", MEBIBYTE)
                await asyncio.sleep(0)
