"""The status report in the log."""

import logging
from collections.abc import Callable, Mapping

from apiserver.clock import Clock
from apiserver.health.service import Health, HealthReport

log = logging.getLogger(__name__)


class StatusReporter:
    """Logs the health of this process once at start, then at each interval."""

    def __init__(
        self,
        health: Health,
        describe: Callable[[HealthReport], Mapping[str, object]],
        clock: Clock,
        interval: float,
    ) -> None:
        self._health = health
        self._describe = describe
        self._clock = clock
        self._interval = interval

    async def run(self) -> None:
        """Report for ever."""
        while True:
            log.info("runtime_status", extra=dict(self._describe(self._health.report())))
            await self._clock.sleep(self._interval)
