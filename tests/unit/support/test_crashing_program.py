"""Tests of the crashing program: it does nothing after its crash, also in the middle of a step."""

import asyncio
from collections.abc import Callable

import pytest

from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, enable_crashes

Steps = list[str]


async def invocation(steps: Steps) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(child(steps))
            steps.append("begun")
            await asyncio.sleep(0)
            steps.append("over")
    finally:
        steps.append("unwound")


async def child(steps: Steps) -> None:
    await asyncio.sleep(0)
    steps.append("child")


async def others(steps: Steps) -> None:
    for _ in range(9):
        await asyncio.sleep(0)
        steps.append("other")


async def run_tasks(steps: Steps) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(others(steps))
        group.create_task(invocation(steps))


async def run_until_crash(
    at: int, moment: AwaitSide, strike: Callable[[], None] | None = None
) -> Steps:
    """Run a program until it crashes at the given point; return all that it recorded."""
    steps = Steps()
    with enable_crashes(asyncio.get_running_loop()):
        program = CrashingProgram(invocation, at, moment, strike)
        async with program.run(run_tasks(steps)):
            for _ in range(20):
                await asyncio.sleep(0)
            recorded = list(steps)
    return recorded


@pytest.mark.parametrize(
    ("at", "moment", "expected"),
    [
        (1, AwaitSide.SUSPENDED, {"begun"}),
        (1, AwaitSide.RESUMED, {"begun"}),
        (2, AwaitSide.SUSPENDED, {"begun"}),
        (2, AwaitSide.RESUMED, {"begun", "over"}),
        (3, AwaitSide.SUSPENDED, {"begun", "over"}),
        (3, AwaitSide.RESUMED, {"begun", "over", "child"}),
        (4, AwaitSide.RESUMED, {"begun", "over", "child", "unwound"}),
    ],
)
async def test_a_crashed_program_runs_nothing_after_its_last_await(
    at: int, moment: AwaitSide, expected: set[str]
) -> None:
    assert set(await run_until_crash(at, moment)) - {"other"} == expected


async def test_tasks_that_are_not_counted_crash_with_the_program() -> None:
    assert (await run_until_crash(1, AwaitSide.SUSPENDED)).count("other") < 9
    assert (await run_until_crash(99, AwaitSide.SUSPENDED)).count("other") == 9


async def test_an_injected_fault_other_than_a_crash_keeps_the_program_alive() -> None:
    faults = Steps()
    recorded = await run_until_crash(2, AwaitSide.RESUMED, lambda: faults.append("now"))
    assert (faults, recorded[-1]) == (["now"], "other")
    assert "unwound" in recorded
