"""The machine's clock, but later."""

from datetime import datetime, timedelta

from controller.runtime.clock import SystemClock


class ShiftedClock(SystemClock):
    """Tells times that come only so many seconds later; waits as long as any other."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead
