"""The TCP proxy of the fault tests: each fault does what its name says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually


class Echo:
    """An echo server: it returns the bytes that it receives."""

    def __init__(self) -> None:
        self.received: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                self.received.append(line)
                writer.write(line)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def proxied_echo(echo: Echo | None = None) -> AsyncIterator[TCPProxy]:
    server = await asyncio.start_server((echo or Echo()).serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        async with TCPProxy(host, port).serve() as proxy:
            yield proxy
    finally:
        server.close()


class Caller:
    """A client of the echo server behind the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, proxy: TCPProxy) -> "Caller":
        return cls(*await asyncio.open_connection("127.0.0.1", proxy.port))

    async def call(self, text: bytes) -> bytes:
        self._writer.write(text + b"\n")
        return await self._reader.readline()

    def close(self) -> None:
        self._writer.close()


async def test_a_proxy_without_faults_forwards_all_bytes() -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        assert await caller.call(b"hello") == b"hello\n"
        assert proxy.connection_count == 1
        caller.close()


async def test_a_cut_resets_the_connection_and_allows_new_ones() -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        await caller.call(b"hello")
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            await caller.call(b"again")
        again = await Caller.connect(proxy)
        assert await again.call(b"back") == b"back\n"
        caller.close()
        again.close()


async def test_a_stalled_connection_delivers_all_bytes_after_the_fault_is_cleared() -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        await caller.call(b"hello")
        proxy.stall()
        async with asyncio.TaskGroup() as group:
            call = group.create_task(caller.call(b"later"))
            done, _ = await asyncio.wait({call}, timeout=0.2)
            assert not done
            proxy.clear_faults()
        assert call.result() == b"later\n"
        caller.close()


async def test_a_muted_server_receives_all_bytes_and_its_answers_are_delayed() -> None:
    echo = Echo()
    async with proxied_echo(echo) as proxy:
        caller = await Caller.connect(proxy)
        await caller.call(b"hello")
        proxy.mute_server()
        async with asyncio.TaskGroup() as group:
            call = group.create_task(caller.call(b"later"))
            await eventually(lambda: asyncio.sleep(0, b"later\n" in echo.received))
            done, _ = await asyncio.wait({call}, timeout=0.2)
            assert not done
            proxy.clear_faults()
        assert call.result() == b"later\n"
        caller.close()


async def test_a_half_closed_connection_ends_for_the_client_and_stays_open_to_the_server() -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        await caller.call(b"hello")
        proxy.half_close()
        assert await caller.call(b"lost") == b""
        assert proxy.connection_count == 1
        caller.close()


async def test_a_delay_applies_in_both_directions() -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        proxy.delay(0.1)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await caller.call(b"hello")
        assert loop.time() - before > 0.19
        caller.close()


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_being_accepted_during_a_cut_is_reset(turns: int) -> None:
    async with proxied_echo() as proxy:
        caller = await Caller.connect(proxy)
        for _ in range(turns):
            await asyncio.sleep(0)
        proxy.refuse()
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            await caller.call(b"hello")
        caller.close()


async def test_a_refusing_proxy_accepts_no_new_connection() -> None:
    async with proxied_echo() as proxy:
        proxy.refuse()
        caller = await Caller.connect(proxy)
        with pytest.raises(ConnectionResetError):
            await caller.call(b"hello")
        caller.close()
        proxy.clear_faults()
        again = await Caller.connect(proxy)
        assert await again.call(b"hello") == b"hello\n"
        again.close()
        await eventually(lambda: asyncio.sleep(0, proxy.connection_count), lambda count: count == 0)
