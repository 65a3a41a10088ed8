"""A clock that differs from the machine's by a constant."""

from datetime import datetime, timedelta

from controller.runtime.clock import SystemClock


class ShiftedClock(SystemClock):
    """A clock whose times are `seconds` ahead, or behind; its sleeps take as long as usual."""

    def __init__(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._offset
