"""Distinguishes a cancellation of the current task from one of something it awaits."""

import asyncio


def is_being_cancelled() -> bool:
    """Whether the current task itself was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
