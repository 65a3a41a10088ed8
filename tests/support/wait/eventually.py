"""Waiting for something to become true, with a deadline and the last thing seen."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 120.0
# A long wait looks less often: each look costs the server, and on a busy machine many tests wait.
MIN_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 0.5
PAUSE_SHARE = 0.1
MAX_SHOWN_CHARACTERS = 2000


async def eventually(
    read: Callable[[], Awaitable[T]],
    predicate: Callable[[T], object] = bool,
    *,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    tolerate: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """What `look` gives once `is_right` holds for it; fails with the last value at the deadline."""
    last: object = "nothing was seen"
    loop, deadline = asyncio.get_running_loop(), asyncio.timeout(timeout_seconds)
    began = loop.time()
    try:
        async with deadline:
            while True:
                try:
                    value = await read()
                except tolerate as error:
                    last = repr(error)
                else:
                    if predicate(value):
                        return value
                    last = value
                await asyncio.sleep(next_pause(loop.time() - began))
    except TimeoutError:
        if not deadline.expired():
            raise  # what was looked at has its own patience
        raise AssertionError(
            f"not within {timeout_seconds:g} s; last seen: "
            f"{str(without_managed_fields(last))[:MAX_SHOWN_CHARACTERS]}"
        ) from None


async def immediate(value: T) -> T:
    """Return `value`: makes an awaitable for `eventually` of what needs no await."""
    return value


def next_pause(waited_seconds: float) -> float:
    """How long to wait for the next look, after so long a wait."""
    return min(max(PAUSE_SHARE * waited_seconds, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)


def without_managed_fields(observed: object) -> object:
    """What is worth telling of an object: not who wrote which field."""
    if isinstance(observed, dict):
        return {
            key: without_managed_fields(value)
            for key, value in observed.items()
            if key != "managedFields"
        }
    return (
        [without_managed_fields(each) for each in observed]
        if isinstance(observed, list)
        else observed
    )
