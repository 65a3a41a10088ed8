"""Being cancelled inside a library that swallows it."""

import asyncio


def honour_cancellation() -> None:
    """End the current task if somebody has asked for it; nats-py loses that while it writes."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
