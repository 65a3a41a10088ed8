"""Slow clients: a connection that sends no complete request is closed, on a real socket."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry

from apiserver.http.access_log import AccessLog
from apiserver.http.protocol import FallbackResponder
from apiserver.http.server import serve
from shared.config.address import Address

HEAD_TIMEOUT_SECONDS = 0.1
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@asynccontextmanager
async def connect(
    port: int, first: bytes = b""
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection on which `first` is sent before the server has accepted it.

    So these bytes are in time even on a slow machine.
    """

    async def handle(_: web.Request) -> web.Response:
        return web.Response(text="!")

    app = web.Application()
    app.router.add_get("/", handle)
    fallback = FallbackResponder(AccessLog(CollectorRegistry()), lambda: "id", HEAD_TIMEOUT_SECONDS)
    async with serve(app, Address("127.0.0.1", port), fallback):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(first)
        reader, writer = await asyncio.open_connection(sock=client)
        yield reader, writer
        writer.close()
        await writer.wait_closed()


async def test_a_connection_without_a_request_is_closed(unused_tcp_port: int) -> None:
    async with connect(unused_tcp_port) as (reader, _), asyncio.timeout(60):
        assert await reader.read() == b""


async def test_a_connection_with_incomplete_headers_is_closed(unused_tcp_port: int) -> None:
    async with connect(unused_tcp_port, REQUEST[:-2]) as (reader, _), asyncio.timeout(60):
        assert await reader.read() == b""


async def test_a_connection_with_incomplete_headers_of_a_second_request_is_closed(
    unused_tcp_port: int,
) -> None:
    async with connect(unused_tcp_port, REQUEST) as (reader, writer), asyncio.timeout(60):
        assert (await reader.readuntil(b"!")).startswith(b"HTTP/1.1 200")
        writer.write(REQUEST[:-2])
        assert await reader.read() == b""


async def test_an_idle_connection_may_exceed_the_header_timeout(unused_tcp_port: int) -> None:
    async with connect(unused_tcp_port, REQUEST) as (reader, writer), asyncio.timeout(60):
        await reader.readuntil(b"!")
        await asyncio.sleep(HEAD_TIMEOUT_SECONDS * 3)  # only waiting shows that nothing happens
        writer.write(REQUEST)
        assert (await reader.readuntil(b"!")).startswith(b"HTTP/1.1 200")
