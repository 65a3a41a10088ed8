"""A pause in a loop that ends only when it is cancelled."""

import asyncio

from controller.runtime.cancellation import is_being_cancelled
from controller.runtime.clock import Clock


async def pause(clock: Clock, seconds: float) -> None:
    """Let `seconds` pass, unless we were to end and a library has kept that to itself.

    Up to Python 3.11 `wait_for`, which the queue's client uses, loses a cancellation that comes
    together with the answer.
    """
    if is_being_cancelled():
        raise asyncio.CancelledError
    await clock.sleep(seconds)
