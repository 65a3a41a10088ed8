"""Work that a leader does every so often."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from controller.runtime.clock import Clock
from controller.runtime.errors import ApiError
from controller.runtime.leader.rules import LeadershipLostError
from serverless.nats.errors import QueueError

log = logging.getLogger(__name__)


class Rounds:
    """Calls `work` every `seconds` until it is told to stop; a round that fails is only late."""

    def __init__(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], clock: Clock
    ) -> None:
        self._name = name
        self._seconds = seconds
        self._work = work
        self._clock = clock

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; a round that has begun is cancelled then, and can be."""
        async with asyncio.TaskGroup() as group:
            rounds = group.create_task(self._for_ever(), name=self._name)
            await stop.wait()
            rounds.cancel()

    async def _for_ever(self) -> None:
        while True:
            try:
                await self._work()
            except (QueueError, ApiError, LeadershipLostError) as error:
                log.warning("round_failed", extra={"round": self._name, "error": str(error)})
            await self._clock.sleep(self._seconds)
