"""Time, passed in so that tests can move it."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Make it never happen."""
        ...


class Clock(Protocol):
    """The only way in which the library tells or spends time."""

    def now(self) -> datetime:
        """The wall clock in UTC: only for what is written into objects."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump: for every interval."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call once `monotonic()` has reached `when`."""
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

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call on the running loop once `when` is reached."""
        return asyncio.get_running_loop().call_later(when - time.monotonic(), callback)
