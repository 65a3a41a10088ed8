"""Telling our own cancellation from one that only reached us."""

import asyncio


def is_being_cancelled() -> bool:
    """Whether somebody asked the current task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
