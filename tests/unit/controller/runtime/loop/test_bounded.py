"""Many writes at once, but not too many, and none of them forgotten."""

import asyncio

from controller.runtime.errors import ForbiddenError, KubeError
from controller.runtime.loop.bounded import MAX_CONCURRENT, run_bounded
from tests.support.clocks.virtual_clock import run_ready_tasks


async def test_all_items_are_processed_with_bounded_concurrency() -> None:
    running, most, done = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    assert await run_bounded(range(100), work) is None
    assert (sorted(done), most) == (list(range(100)), MAX_CONCURRENT)


async def test_after_a_failure_nothing_is_begun_and_what_is_under_way_ends() -> None:
    begun, ended, slow = [], [], asyncio.Event()

    async def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise ForbiddenError("quota", status=403)
        await slow.wait()
        ended.append(item)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_bounded(range(100), work))
        await run_ready_tasks()
        slow.set()
    assert isinstance(task.result(), ForbiddenError)
    assert (begun, len(ended)) == (list(range(MAX_CONCURRENT)), MAX_CONCURRENT - 1)


async def test_the_first_of_several_failures_is_raised() -> None:
    last_failed = asyncio.Event()

    async def work(item: int) -> None:
        if item == 0:
            await last_failed.wait()
        last_failed.set()
        raise KubeError(str(item))

    assert str(await run_bounded(range(3), work)) == "0"
