"""Many writes at once, but not too many."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from controller.runtime.errors import KubeError

T = TypeVar("T")

MAX_CONCURRENT: Final = 16


async def run_bounded(
    items: Sequence[T], action: Callable[[T], Awaitable[None]]
) -> KubeError | None:
    """Do `work` for each of `items`; after a failure none is begun any more.

    What is under way then goes on to its end: its answer tells what exists. Of several failures the
    one that is first in order is given, so that the same trouble gives the same words.
    """
    waiting = iter(enumerate(items))
    failures: dict[int, KubeError] = {}

    async def hand() -> None:
        for place, item in waiting:
            try:
                await action(item)
            except KubeError as error:
                failures[place] = error
            if failures:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(MAX_CONCURRENT, len(items))):
            group.create_task(hand())
    return failures[min(failures)] if failures else None
