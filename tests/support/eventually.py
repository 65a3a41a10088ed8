"""Waiting for something to become true, with a deadline and the last thing seen."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_SECONDS = 120.0
POLL_SECONDS = 0.05
LONGEST_SHOWN = 2000


async def eventually(
    look: Callable[[], Awaitable[T]],
    is_right: Callable[[T], object] = bool,
    *,
    seconds: float = DEADLINE_SECONDS,
    tolerate: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """What `look` gives once `is_right` holds for it; fails with the last value at the deadline."""
    last: object = "nothing was seen"
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            while True:
                try:
                    value = await look()
                except tolerate as error:
                    last = repr(error)
                else:
                    if is_right(value):
                        return value
                    last = value
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        if not deadline.expired():
            raise  # what was looked at has its own patience
        raise AssertionError(
            f"not within {seconds:g} s; last seen: {str(last)[:LONGEST_SHOWN]}"
        ) from None
