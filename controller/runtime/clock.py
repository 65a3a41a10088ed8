"""The clock: protocols, so that tests can control time, and the clock of the system."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """All access of the library to time."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC; only for timestamps in objects."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds; for all intervals."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        ...


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Prevent the call; no effect if it was made."""
        ...


class TimerClock(Clock, Protocol):
    """A clock that also schedules calls, for timeouts and delayed keys."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when `monotonic()` has reached `when`."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the only use in the library

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        await asyncio.sleep(seconds)

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the running event loop when `when` is reached."""
        return asyncio.get_running_loop().call_later(when - time.monotonic(), callback)
