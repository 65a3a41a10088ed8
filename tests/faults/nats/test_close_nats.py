"""Disconnection from the queue: every program can close its connection, in any state."""

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

PATIENCE: Final = 30.0
MEBIBYTE: Final = b"x" * 1024 * 1024
STUCK_SECONDS: Final = 1.0

Spoil = Callable[[TCPProxy, Client], Awaitable[None]]


async def test_a_nats_connection_closes_while_the_server_is_gone(nats_server: NATSServer) -> None:
    async def lose(proxy: TCPProxy, client: Client) -> None:
        proxy.refuse()
        proxy.cut()
        await eventually(lambda: asyncio.sleep(0, client.is_reconnecting))
        await client.publish("nobody.listens", b"this is sent when it is connected again")

    await everybody_leaves(nats_server, lose)


async def test_a_nats_connection_closes_while_the_server_does_not_read(
    nats_server: NATSServer,
) -> None:
    async def stall(proxy: TCPProxy, client: Client) -> None:
        proxy.stall()
        await flood(client)

    await everybody_leaves(nats_server, stall)


async def everybody_leaves(server: NATSServer, spoil: Spoil) -> None:
    async with asyncio.TaskGroup() as group:
        for program in NATS_USERS:
            group.create_task(leaves(program, server, spoil))


async def leaves(program: str, server: NATSServer, spoil: Spoil) -> None:
    """Break the program's connection, tell the program to end, and require that it ends."""
    target = urlsplit(server.url)
    async with TCPProxy(target.hostname or "", target.port or 0).serve() as proxy:
        desk = NATS_USERS[program](server.admin_url.replace(f":{target.port}", f":{proxy.port}"))
        async with desk.connected() as keeping:
            client = desk.current_client()
            assert client is not None
            await spoil(proxy, client)
            keeping.cancel()
            _, running = await asyncio.wait([keeping], timeout=PATIENCE)
            assert not running, f"{program}: was told to end, and goes on for ever"
            assert keeping.cancelled(), f"{program}: {keeping.exception()!r}"


async def flood(client: Client) -> None:
    """Send until the connection accepts no more."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STUCK_SECONDS):
            while True:
                with preserve_cancellation():
                    await client.publish("nobody.listens", MEBIBYTE)
                await asyncio.sleep(0)
