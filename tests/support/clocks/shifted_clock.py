"""Clocks that differ from the machine's by a constant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.runtime.clock import SystemClock
from serverless.worker.clock import SystemRecordClock


class ShiftedClock(SystemClock):
    """A controller clock whose times are `seconds` ahead; its sleeps take as long as usual."""

    def __init__(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._offset


@dataclass(frozen=True)
class ShiftedWorkerClock:
    """A worker clock whose times are `seconds` ahead, or behind where that is negative."""

    seconds: float

    def now_ms(self) -> int:
        return SystemRecordClock().now_ms() + int(self.seconds * 1000)
