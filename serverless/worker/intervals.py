"""The intervals of the periodic work of a worker."""

from dataclasses import dataclass

from shared.invocation.limits import HEARTBEAT_INTERVAL_SECONDS
from shared.invocation.worker_report import REPORT_INTERVAL_SECONDS


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between two repetitions."""

    heartbeat_seconds: float = float(HEARTBEAT_INTERVAL_SECONDS)
    report_seconds: float = REPORT_INTERVAL_SECONDS
    retry_seconds: float = 1.0
    max_retry_seconds: float = 30.0
    health_check_seconds: float = 5.0
    pull_seconds: float = 30.0

    def retry_delay_seconds(self, failures: int) -> float:
        """Return the exponential back-off after so many failures."""
        return min(
            self.max_retry_seconds, self.retry_seconds * 2.0 ** min(max(failures - 1, 0), 10)
        )
