"""The interface of a clock, so that tests can control time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only interface by which a program reads the time or sleeps."""

    def now(self) -> datetime:
        """Return the wall clock time in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never jump, for measuring intervals."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        ...
