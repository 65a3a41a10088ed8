"""Tests of the memory budget: it bounds the bytes held at once, for any number of bodies."""

import asyncio
import tempfile
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from serverless.worker.framework.client import (
    FrameworkClient,
    FrameworkEndpoint,
    open_framework_client,
)
from serverless.worker.framework.result import FrameworkResponse
from serverless.worker.memory_budget import MemoryBudget, MemoryBudgets

MIB = 1024**2
SIZE = 4 * MIB
CHUNK = bytes(64 * 1024)


async def test_requests_for_memory_wait_in_order() -> None:
    memory, order = MemoryBudget(10), list[str]()

    async def acquire(name: str, size: int) -> None:
        await memory.acquire(size)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        await memory.acquire(8)
        large = group.create_task(acquire("large", 9))
        small = group.create_task(acquire("small", 1))
        await asyncio.wait({large, small}, timeout=0.01)
        assert order == []
        memory.release(8)
    assert order == ["large", "small"]


async def test_a_request_above_the_whole_budget_gets_the_whole_budget() -> None:
    memory = MemoryBudget(10)
    assert await memory.acquire(11) == 10


async def test_a_cancelled_request_for_memory_takes_nothing() -> None:
    memory = MemoryBudget(10)
    await memory.acquire(10)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await memory.acquire(5)
    memory.release(10)
    assert await memory.acquire(10) == 10


async def test_large_bodies_of_many_attempts_are_never_held_at_once() -> None:
    budgets, max_copies = MemoryBudgets(SIZE), 4

    async def attempt(framework: FrameworkClient) -> int:
        memory = budgets.for_attempt()
        try:
            await memory.payload.acquire(SIZE)
            response = await framework.invoke({}, bytearray(SIZE), memory)
            assert isinstance(response, FrameworkResponse)
            return len(response.body)
        finally:
            memory.release()

    async with (
        serve_framework() as path,
        open_framework_client(FrameworkEndpoint(str(path))) as framework,
    ):
        tracemalloc.start()
        try:
            sizes = await asyncio.gather(*(attempt(framework) for _ in range(12)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert sizes == [SIZE] * 12
    assert peak < max_copies * SIZE


@asynccontextmanager
async def serve_framework() -> AsyncIterator[Path]:
    """Serve a framework that reads SIZE bytes, answers with SIZE bytes, and buffers little."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"Content-Length: {SIZE}".encode() in head
        for _ in range(SIZE // len(CHUNK)):
            await reader.readexactly(len(CHUNK))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % SIZE)
        for _ in range(SIZE // len(CHUNK)):
            writer.write(CHUNK)
            await writer.drain()
        writer.close()

    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        path = Path(folder) / "framework.sock"
        async with await asyncio.start_unix_server(respond, path):
            yield path
