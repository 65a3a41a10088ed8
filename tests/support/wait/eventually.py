"""Waits for a condition, with a deadline and the last value in the failure."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 120.0
# A long wait reads less often: each read costs the server, and many tests wait at once.
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
    """Read until `predicate` holds for the value, and return the value.

    Errors in `tolerate` count as a value that does not match. Raises AssertionError with the last
    value at the deadline.
    """
    last_value: object = "nothing was read"
    loop, deadline = asyncio.get_running_loop(), asyncio.timeout(timeout_seconds)
    began = loop.time()
    try:
        async with deadline:
            while True:
                try:
                    value = await read()
                except tolerate as error:
                    last_value = repr(error)
                else:
                    if predicate(value):
                        return value
                    last_value = value
                await asyncio.sleep(next_pause(loop.time() - began))
    except TimeoutError:
        if not deadline.expired():
            raise  # a timeout of `read` itself
        raise AssertionError(
            f"not within {timeout_seconds:g} s; last value: "
            f"{str(without_managed_fields(last_value))[:MAX_SHOWN_CHARACTERS]}"
        ) from None


async def immediate(value: T) -> T:
    """Return `value`; used to pass a function that does not await to `eventually`."""
    return value


def next_pause(waited_seconds: float) -> float:
    """Return the seconds to the next read, after `waited_seconds`."""
    return min(max(PAUSE_SHARE * waited_seconds, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)


def without_managed_fields(observed: object) -> object:
    """Drop `managedFields` from an object, because they only make the message of a failure long."""
    if isinstance(observed, dict):
        return {
            key: without_managed_fields(value)
            for key, value in observed.items()
            if key != "managedFields"
        }
    return (
        [without_managed_fields(item) for item in observed]
        if isinstance(observed, list)
        else observed
    )
