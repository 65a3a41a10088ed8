"""Tests of bounded concurrency: a limited number of actions runs at once, each with a result."""

import asyncio

import pytest

from controller.runtime.errors import ForbiddenError, KubeError
from controller.runtime.loop.bounded import MAX_CONCURRENT, first_in_order, run_bounded
from tests.support.clocks.virtual_clock import run_ready_tasks


async def test_all_items_are_processed_with_bounded_concurrency() -> None:
    running, max_running, done = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, max_running
        running += 1
        max_running = max(max_running, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    assert await run_bounded(range(100), work, KubeError) == {}
    assert (sorted(done), max_running) == (list(range(100)), MAX_CONCURRENT)


async def test_after_a_failure_no_action_starts_and_running_actions_end() -> None:
    started, ended, may_end = [], [], asyncio.Event()

    async def work(item: int) -> None:
        started.append(item)
        if item == 1:
            raise ForbiddenError("quota", status=403)
        await may_end.wait()
        ended.append(item)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_bounded(range(100), work, ForbiddenError))
        await run_ready_tasks()
        may_end.set()
    assert isinstance(first_in_order(task.result()), ForbiddenError)
    assert (started, len(ended)) == (list(range(MAX_CONCURRENT)), MAX_CONCURRENT - 1)


async def test_errors_have_positions_and_are_in_the_order_of_their_time() -> None:
    last_failed = asyncio.Event()

    async def work(item: int) -> None:
        if item == 0:
            await last_failed.wait()
        last_failed.set()
        raise KubeError(str(item))

    errors = await run_bounded(range(3), work, KubeError)
    assert [str(error) for error in errors.values()] == ["1", "2", "0"]
    assert str(first_in_order(errors)) == "0"


async def test_first_in_order_is_none_without_errors() -> None:
    assert first_in_order({}) is None


async def test_an_error_of_another_type_is_raised() -> None:
    async def work(item: int) -> None:
        raise KubeError(str(item))

    with pytest.RaisesGroup(KubeError):
        await run_bounded(range(1), work, ForbiddenError)
