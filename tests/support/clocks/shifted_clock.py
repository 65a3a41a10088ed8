"""The machine's clock, but later."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.runtime.clock import SystemClock
from serverless.worker.clock import SystemRecordClock


class ShiftedClock(SystemClock):
    """Tells times that come only so many seconds later; waits as long as any other."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead


@dataclass(frozen=True)
class ShiftedWorkerClock:
    """Ahead of everybody by so many seconds, or behind."""

    seconds: float

    def now_ms(self) -> int:
        return SystemRecordClock().now_ms() + int(self.seconds * 1000)
