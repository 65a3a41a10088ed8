"""A clock whose sleeps return at once."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any


class AutoAdvanceClock:
    """A clock that each sleep moves forward, up to `end_seconds`.

    Sleepers that reach the end never wake.
    """

    def __init__(self, end_seconds: float = float("inf")) -> None:
        self._end = end_seconds
        self._seconds = 0.0
        self._ended = asyncio.Event()

    def now(self) -> datetime:
        return datetime(2026, 11, 16, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)  # tasks that are ready run before time moves
        self._seconds += seconds
        if self._seconds > self._end:
            self._ended.set()
            await asyncio.get_running_loop().create_future()

    def advance(self, seconds: float) -> None:
        self._seconds += seconds

    async def run_to_end(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run an endless coroutine until a sleep reaches the end of this clock."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(coroutine)
            await self._ended.wait()
            task.cancel()
