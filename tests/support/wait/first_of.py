"""Waits for the first of several conditions."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def wait_for_first(*conditions: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of the coroutines has returned, and cancel the others."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(condition) for condition in conditions]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
