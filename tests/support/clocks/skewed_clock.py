"""A clock that is wrong by a constant."""

from dataclasses import dataclass

from serverless.worker.clock import SystemClock


@dataclass(frozen=True)
class SkewedClock:
    """Ahead of everybody by so many seconds, or behind."""

    seconds: float

    def now(self) -> int:
        return SystemClock().now() + int(self.seconds * 1000)
