"""Bounded concurrency: one action for many items, a limited number at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

MAX_CONCURRENT: Final = 16


async def run_bounded(
    items: Sequence[T], action: Callable[[T], Awaitable[None]], error_type: type[E]
) -> dict[int, E]:
    """Run `action` for each item, `MAX_CONCURRENT` at once; start no more after an error.

    Actions that have started run to their end: only their result shows what exists. Returns the
    errors of `error_type` by the position of their item, in the order in which they were raised;
    empty if all actions succeeded. Any other error cancels the rest and is raised.
    """
    waiting = iter(enumerate(items))
    errors: dict[int, E] = {}

    async def work() -> None:
        for position, item in waiting:
            try:
                await action(item)
            except error_type as error:
                errors[position] = error
            if errors:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(MAX_CONCURRENT, len(items))):
            group.create_task(work())
    return errors


def first_in_order(errors: Mapping[int, E]) -> E | None:
    """Return the error of the first failed item; None without errors.

    The position decides and not the time, so that the same failure gives the same message.
    """
    return errors[min(errors)] if errors else None
