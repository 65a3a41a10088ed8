"""The status report in the log."""

import logging
from collections.abc import Callable, Mapping

from apiserver.health.service import HealthReport, HealthService
from shared.clock import Clock

log = logging.getLogger(__name__)


class StatusReporter:
    """A reporter that logs the health of this process at the start and at each interval."""

    def __init__(
        self,
        health: HealthService,
        to_log_fields: Callable[[HealthReport], Mapping[str, object]],
        clock: Clock,
        interval_seconds: float,
    ) -> None:
        self._health = health
        self._to_log_fields = to_log_fields
        self._clock = clock
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            log.info("runtime_status", extra=dict(self._to_log_fields(self._health.report())))
            await self._clock.sleep(self._interval_seconds)
