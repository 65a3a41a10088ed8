"""Tests of the task registry: tasks survive their callers, and run once per key."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.operations.task_registry import KeyedTasks

LONG = 1000.0


@asynccontextmanager
async def open_workshop() -> AsyncIterator[KeyedTasks]:
    workshop = KeyedTasks()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(workshop.run())
        await asyncio.sleep(0)
        yield workshop
        running.cancel()


async def test_callers_with_the_same_key_join_one_task() -> None:
    gate, began = asyncio.Event(), []

    async def work() -> str:
        began.append("once")
        await gate.wait()
        return "done"

    async with open_workshop() as workshop, asyncio.TaskGroup() as group:
        first = group.create_task(workshop.join("key", work, LONG))
        second = group.create_task(workshop.join("key", work, LONG))
        await asyncio.sleep(0)
        gate.set()
        assert (await first, await second) == ("done", "done")
    assert began == ["once"]


async def test_a_task_continues_when_no_caller_waits() -> None:
    gate, ended = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        await gate.wait()
        ended.set()
        return "done"

    async with open_workshop() as workshop:
        assert await workshop.join("key", work, timeout_seconds=0.0) is None
        gate.set()
        await ended.wait()


async def test_a_failed_task_raises_for_its_callers_and_stops_no_other_task() -> None:
    async def fails() -> str:
        raise ValueError("no")

    async def works() -> str:
        return "done"

    async with open_workshop() as workshop:
        with pytest.raises(ValueError, match="no"):
            await workshop.join("bad", fails, LONG)
        assert await workshop.join("good", works, LONG) == "done"
        assert await workshop.join("bad", works, LONG) == "done"


async def test_a_process_that_stops_begins_nothing() -> None:
    async def work() -> str:
        return "done"

    workshop = KeyedTasks()
    with pytest.raises(ServiceUnavailableError):
        await workshop.join("key", work, LONG)


async def test_a_closing_task_registry_takes_no_task() -> None:
    """Check the refusal while a cancelled task has not ended yet, too."""
    workshop, is_ending, may_end = KeyedTasks(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()

    async def nothing() -> None: ...

    async with asyncio.TaskGroup() as group:
        running = group.create_task(workshop.run())
        await asyncio.sleep(0)
        _ = workshop.start("one", slow_to_end)
        await asyncio.sleep(0)
        running.cancel()
        await is_ending.wait()
        with pytest.raises(ServiceUnavailableError):
            _ = workshop.start("two", nothing)
        may_end.set()
