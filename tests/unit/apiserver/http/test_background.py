"""Tests of background tasks: a task outlives the request that started it."""

import asyncio

import pytest

from apiserver.errors import ConflictError
from apiserver.http.background import BackgroundTasks, run_background_tasks


async def value_of(result: asyncio.Future[str]) -> str:
    return await result


async def start_and_abandon(tasks: BackgroundTasks, result: asyncio.Future[str]) -> None:
    """Start a task, and cancel its request after the task has started."""
    async with asyncio.TaskGroup() as group:
        request = group.create_task(tasks.finish(value_of(result)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        request.cancel()


async def test_the_result_of_a_background_task_is_returned() -> None:
    async def return_one() -> int:
        return 1

    async with run_background_tasks() as tasks:
        assert await tasks.finish(return_one()) == 1


async def test_a_failed_background_task_raises_in_its_request_only() -> None:
    async def broken() -> None:
        raise ConflictError("claimed")

    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with run_background_tasks() as tasks:
        await start_and_abandon(tasks, result)
        with pytest.raises(ConflictError):
            await tasks.finish(broken())
        assert not result.cancelled()
        result.set_result("done")


async def test_a_stop_waits_for_a_task_whose_request_was_cancelled() -> None:
    done = []

    async def slow() -> None:
        await result
        done.append(True)

    result: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with run_background_tasks() as tasks, asyncio.TaskGroup() as group:
        request = group.create_task(tasks.finish(slow()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        request.cancel()
        asyncio.get_running_loop().call_soon(result.set_result, None)
    assert done == [True]


async def test_a_stop_cancels_background_tasks_after_the_grace_period(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with run_background_tasks(grace_seconds=0.0) as tasks:
        await start_and_abandon(tasks, result)
    assert result.cancelled()
    assert [record.message for record in caplog.records] == ["detached_work_cut_off"]


async def test_an_unexpected_error_of_an_abandoned_task_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with run_background_tasks() as tasks:
        await start_and_abandon(tasks, result)
        result.set_exception(RuntimeError("a bug"))
    assert [record.message for record in caplog.records] == ["detached_work_failed"]


async def test_a_service_error_of_an_abandoned_task_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with run_background_tasks() as tasks:
        await start_and_abandon(tasks, result)
        result.set_exception(ConflictError("claimed"))
    assert caplog.records == []
