"""One life for every wait of a program, many at a time."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tests.support.faults.crashing_program import Moment, MortalProgram, mortality

AT_ONCE: Final = 20

Life = Callable[[int, Moment], Coroutine[Any, Any, MortalProgram]]


async def at_every_wait(life: Life) -> None:
    """A life for each wait and for each side of it, until one ends before its wait has come."""
    with mortality(asyncio.get_running_loop()):
        for first in itertools.count(1, AT_ONCE):
            came = await _came(life, range(first, first + AT_ONCE))
            assert any(came) or first > 1, "nothing waits any more: this finds nothing"
            if not all(came):
                return


async def _came(life: Life, waits: range) -> list[bool]:
    """Whether each life has come to its wait."""
    async with asyncio.TaskGroup() as group:
        lives = [group.create_task(life(at, moment)) for at in waits for moment in Moment]
    return [each.result().struck.is_set() for each in lives]
