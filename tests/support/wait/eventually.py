"""Waiting for something to become true, with a deadline and the last thing seen."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_SECONDS = 120.0
# A long wait looks less often: each look costs the server, and on a busy machine many tests wait.
SHORTEST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
PAUSE_SHARE = 0.1
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
    loop, deadline = asyncio.get_running_loop(), asyncio.timeout(seconds)
    began = loop.time()
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
                await asyncio.sleep(pause_after(loop.time() - began))
    except TimeoutError:
        if not deadline.expired():
            raise  # what was looked at has its own patience
        raise AssertionError(
            f"not within {seconds:g} s; last seen: {str(told(last))[:LONGEST_SHOWN]}"
        ) from None


def pause_after(seconds: float) -> float:
    """How long to wait for the next look, after so long a wait."""
    return min(max(PAUSE_SHARE * seconds, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


def told(seen: object) -> object:
    """What is worth telling of an object: not who wrote which field."""
    if isinstance(seen, dict):
        return {key: told(value) for key, value in seen.items() if key != "managedFields"}
    return [told(each) for each in seen] if isinstance(seen, list) else seen
