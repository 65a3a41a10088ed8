"""Tests of the task registry: tasks survive their callers, and run once per key."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.operations.task_registry import KeyedTasks

LONG = 1000.0


@asynccontextmanager
async def run_tasks() -> AsyncIterator[KeyedTasks]:
    tasks = KeyedTasks()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(tasks.run())
        await asyncio.sleep(0)
        yield tasks
        running.cancel()


async def test_callers_with_the_same_key_join_one_task() -> None:
    may_end, started = asyncio.Event(), []

    async def work() -> str:
        started.append("once")
        await may_end.wait()
        return "done"

    async with run_tasks() as tasks, asyncio.TaskGroup() as group:
        first = group.create_task(tasks.join("key", work, LONG))
        second = group.create_task(tasks.join("key", work, LONG))
        await asyncio.sleep(0)
        may_end.set()
        assert (await first, await second) == ("done", "done")
    assert started == ["once"]


async def test_a_task_continues_when_no_caller_waits() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        await may_end.wait()
        ended.set()
        return "done"

    async with run_tasks() as tasks:
        assert await tasks.join("key", work, timeout_seconds=0.0) is None
        may_end.set()
        await ended.wait()


async def test_a_failed_task_raises_for_its_callers_and_stops_no_other_task() -> None:
    async def fails() -> str:
        raise ValueError("no")

    async def works() -> str:
        return "done"

    async with run_tasks() as tasks:
        with pytest.raises(ValueError, match="no"):
            await tasks.join("bad", fails, LONG)
        assert await tasks.join("good", works, LONG) == "done"
        assert await tasks.join("bad", works, LONG) == "done"


async def test_a_task_registry_that_does_not_run_starts_no_task() -> None:
    async def work() -> str:
        return "done"

    tasks = KeyedTasks()
    with pytest.raises(ServiceUnavailableError):
        await tasks.join("key", work, LONG)


async def test_a_stopping_task_registry_starts_no_task() -> None:
    """Check the refusal while a cancelled task has not ended yet, too."""
    tasks, is_ending, may_end = KeyedTasks(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()

    async def nothing() -> None: ...

    async with asyncio.TaskGroup() as group:
        running = group.create_task(tasks.run())
        await asyncio.sleep(0)
        _ = tasks.start("one", slow_to_end)
        await asyncio.sleep(0)
        running.cancel()
        await is_ending.wait()
        with pytest.raises(ServiceUnavailableError):
            _ = tasks.start("two", nothing)
        may_end.set()
