"""One life for every wait of a program, many at a time."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, enable_crashes

MAX_CONCURRENT_RUNS: Final = 20

ProgramRun = Callable[[int, AwaitSide], Coroutine[Any, Any, CrashingProgram]]


async def crash_at_every_await(run: ProgramRun) -> None:
    """A life for each wait and for each side of it, until one ends before its wait has come."""
    with enable_crashes(asyncio.get_running_loop()):
        for first in itertools.count(1, MAX_CONCURRENT_RUNS):
            came = await _run_batch(run, range(first, first + MAX_CONCURRENT_RUNS))
            assert any(came) or first > 1, "nothing waits any more: this finds nothing"
            if not all(came):
                return


async def _run_batch(run: ProgramRun, await_numbers: range) -> list[bool]:
    """Whether each life has come to its wait."""
    async with asyncio.TaskGroup() as group:
        lives = [group.create_task(run(at, moment)) for at in await_numbers for moment in AwaitSide]
    return [each.result().was_injected.is_set() for each in lives]
