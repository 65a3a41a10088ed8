"""Time, passed in so that tests can move it."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The only way in which anything here tells or spends time."""

    def now(self) -> datetime:
        """The wall clock in UTC: for people."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump: for measuring."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place that reads it

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await asyncio.sleep(seconds)
