"""Many small pieces of work at once, but not too many."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from serverless.nats.errors import QueueError

T = TypeVar("T")

MAX_CONCURRENT: Final = 16


async def run_bounded(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do `work` for each of `items`; once the queue has failed none is begun any more."""
    waiting, failures = iter(items), list[QueueError]()

    async def hand() -> None:
        for item in waiting:
            try:
                await work(item)
            except QueueError as error:
                failures.append(error)
            if failures:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_CONCURRENT):
            group.create_task(hand())
    if failures:
        raise failures[0]
