"""Many writes at once, but not too many."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from controller.runtime.errors import ApiError

T = TypeVar("T")

HANDS: Final = 16


async def work_through(items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> ApiError | None:
    """Do `work` for each of `items`; after a failure none is begun any more.

    What is under way then goes on to its end: its answer tells what exists. Of several failures the
    one that is first in order is given, so that the same trouble gives the same words.
    """
    waiting = iter(enumerate(items))
    failures: dict[int, ApiError] = {}

    async def hand() -> None:
        for place, item in waiting:
            try:
                await work(item)
            except ApiError as error:
                failures[place] = error
            if failures:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(HANDS, len(items))):
            group.create_task(hand())
    return failures[min(failures)] if failures else None
