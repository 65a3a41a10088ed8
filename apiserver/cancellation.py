"""Being asked to end inside a library that keeps it to itself."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def preserve_cancellation() -> Iterator[None]:
    """End the task after the block, if somebody has asked for it meanwhile.

    Up to Python 3.11 `wait_for`, which the queue's client uses, loses a cancellation that comes
    together with the answer; the client also drops one while it writes, or tells it as an error.
    """
    task = asyncio.current_task()
    before = _cancel_requests(task)
    try:
        yield
    finally:
        if _cancel_requests(task) > before:
            raise asyncio.CancelledError


def _cancel_requests(task: asyncio.Task[object] | None) -> int:
    return 0 if task is None else task.cancelling()
