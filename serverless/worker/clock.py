"""The clock of a worker."""

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the wall clock time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place of a worker that reads it

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        await asyncio.sleep(seconds)
