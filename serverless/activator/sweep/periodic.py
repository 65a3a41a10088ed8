"""Periodic work of a leader."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from controller.runtime import Clock, KubeError, LeadershipLostError
from serverless.nats.errors import QueueError

log = logging.getLogger(__name__)


class PeriodicTask:
    """Calls `work` periodically until it is stopped; a failed round is only logged."""

    def __init__(
        self, name: str, interval_seconds: float, work: Callable[[], Awaitable[None]], clock: Clock
    ) -> None:
        self._name = name
        self._interval_seconds = interval_seconds
        self._work = work
        self._clock = clock

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`, which cancels a running round."""
        async with asyncio.TaskGroup() as group:
            rounds = group.create_task(self._run_loop(), name=self._name)
            await stop.wait()
            rounds.cancel()

    async def _run_loop(self) -> None:
        while True:
            try:
                await self._work()
            except (QueueError, KubeError, LeadershipLostError) as error:
                log.warning("round_failed", extra={"round": self._name, "error": str(error)})
            await self._clock.sleep(self._interval_seconds)
