"""Tests of long polls: waiting requests do not block the shutdown of a process."""

import asyncio

import pytest

from apiserver.http.long_poll import LongPolls


async def never_return() -> int:
    await asyncio.get_running_loop().create_future()
    return 1


async def return_one() -> int:
    return 1


async def time_out() -> int:
    raise TimeoutError("inner timeout")


async def test_a_long_poll_returns_its_result() -> None:
    assert await LongPolls().run_until_stop(return_one()) == 1


async def test_a_stop_ends_every_long_poll() -> None:
    long_polls = LongPolls()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(long_polls.run_until_stop(never_return())) for _ in range(3)]
        asyncio.get_running_loop().call_soon(long_polls.stop)
    assert [task.result() for task in tasks] == [None, None, None]


async def test_a_long_poll_after_a_stop_returns_at_once() -> None:
    long_polls = LongPolls()
    long_polls.stop()
    assert await long_polls.run_until_stop(never_return()) is None


async def test_a_timeout_inside_a_long_poll_is_raised() -> None:
    with pytest.raises(TimeoutError, match="inner timeout"):
        await LongPolls().run_until_stop(time_out())
