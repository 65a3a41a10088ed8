"""Tests of the crashing program: it does nothing after its crash, even in mid-action."""

import asyncio
from collections.abc import Callable

import pytest

from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, enable_crashes

Told = list[str]


async def invocation(told: Told) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(child(told))
            told.append("begun")
            await asyncio.sleep(0)
            told.append("over")
    finally:
        told.append("unwound")


async def child(told: Told) -> None:
    await asyncio.sleep(0)
    told.append("child")


async def others(told: Told) -> None:
    for _ in range(9):
        await asyncio.sleep(0)
        told.append("other")


async def program_of(told: Told) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(others(told))
        group.create_task(invocation(told))


async def lived(at: int, moment: AwaitSide, strike: Callable[[], None] | None = None) -> Told:
    """Run a program until it crashes at the given point; return all that it recorded."""
    told = Told()
    with enable_crashes(asyncio.get_running_loop()):
        program = CrashingProgram(invocation, at, moment, strike)
        async with program.run(program_of(told)):
            for _ in range(20):
                await asyncio.sleep(0)
            said = list(told)
    return said


@pytest.mark.parametrize(
    ("at", "moment", "said"),
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
    at: int, moment: AwaitSide, said: set[str]
) -> None:
    assert set(await lived(at, moment)) - {"other"} == said


async def test_tasks_that_are_not_counted_crash_with_the_program() -> None:
    assert (await lived(1, AwaitSide.SUSPENDED)).count("other") < 9
    assert (await lived(99, AwaitSide.SUSPENDED)).count("other") == 9


async def test_an_injected_fault_other_than_a_crash_keeps_the_program_alive() -> None:
    struck = Told()
    said = await lived(2, AwaitSide.RESUMED, lambda: struck.append("now"))
    assert (struck, said[-1]) == (["now"], "other")
    assert "unwound" in said
