"""Cancellation of a task inside nats-py, which sometimes swallows it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def preserve_cancellation() -> Iterator[None]:
    """Raise CancelledError after the block if the task was cancelled inside it.

    Up to Python 3.11 `wait_for`, which nats-py uses, loses a cancellation that arrives together
    with the reply. nats-py also drops one while it writes, or raises another error instead.
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
