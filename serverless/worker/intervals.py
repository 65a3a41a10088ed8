"""How often a worker does what it does again and again."""

from dataclasses import dataclass

from shared.invocation.limits import HEARTBEAT_SECONDS
from shared.invocation.worker_report import REPORT_SECONDS


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between one time and the next."""

    heartbeat: float = float(HEARTBEAT_SECONDS)
    report: float = REPORT_SECONDS
    retry: float = 1.0
    longest_retry: float = 30.0
    health: float = 5.0
    pull: float = 30.0

    def again_in(self, times: int) -> float:
        """How long to leave a thing alone that has gone wrong so many times."""
        return min(self.longest_retry, self.retry * 2.0 ** min(max(times - 1, 0), 10))
