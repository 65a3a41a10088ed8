"""The clocks of a worker."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class RecordClock(Protocol):
    """The wall clock whose time is written into records."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        ...


class SystemRecordClock:
    """The record clock of this machine."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        return time.time_ns() // 1_000_000


class SystemClock:
    """The clock of this machine, for the connection to NATS."""

    def now(self) -> datetime:
        """Return the wall clock time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place of a worker that reads it

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        await asyncio.sleep(seconds)
