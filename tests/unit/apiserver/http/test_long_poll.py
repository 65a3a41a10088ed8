"""Tests of long polls: waiting requests do not block the shutdown of a process."""

import asyncio

import pytest

from apiserver.http.long_poll import LongPolls


async def for_ever() -> int:
    await asyncio.get_running_loop().create_future()
    return 1


async def at_once() -> int:
    return 1


async def of_its_own() -> int:
    raise TimeoutError("of its own")


async def test_the_result_of_a_wait_is_returned() -> None:
    assert await LongPolls().run_until_stop(at_once()) == 1


async def test_a_stop_ends_every_wait() -> None:
    waits = LongPolls()
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(waits.run_until_stop(for_ever())) for _ in range(3)]
        asyncio.get_running_loop().call_soon(waits.stop)
    assert [task.result() for task in waiting] == [None, None, None]


async def test_a_wait_after_a_stop_returns_at_once() -> None:
    waits = LongPolls()
    waits.stop()
    assert await waits.run_until_stop(for_ever()) is None


async def test_a_timeout_of_the_work_is_no_stop() -> None:
    with pytest.raises(TimeoutError, match="of its own"):
        await LongPolls().run_until_stop(of_its_own())
