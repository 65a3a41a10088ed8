"""A clock that is wrong by a constant."""

from dataclasses import dataclass

from serverless.worker.clock import SystemRecordClock


@dataclass(frozen=True)
class ShiftedWorkerClock:
    """Ahead of everybody by so many seconds, or behind."""

    seconds: float

    def now_ms(self) -> int:
        return SystemRecordClock().now_ms() + int(self.seconds * 1000)
