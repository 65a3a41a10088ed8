"""A workshop takes work while it is open, and says so when it is not."""

import asyncio

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.services.workshop import Workshop


async def test_a_workshop_that_is_closing_takes_no_more() -> None:
    """Also while what is cut off has not ended yet."""
    workshop, is_ending, may_end = Workshop(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()

    async def nothing() -> None: ...

    async with asyncio.TaskGroup() as group:
        running = group.create_task(workshop.run())
        await asyncio.sleep(0)
        _ = workshop.start("one", slow_to_end)
        await asyncio.sleep(0)
        running.cancel()
        await is_ending.wait()
        with pytest.raises(ServiceUnavailableError):
            _ = workshop.start("two", nothing)
        may_end.set()
