"""Whether the framework can take invocations: asked again and again."""

import asyncio
import logging
from collections.abc import Mapping

from serverless.worker.framework.client import FrameworkSocket
from serverless.worker.framework.result import Gone, Heard
from serverless.worker.intervals import Pace
from serverless.worker.memory_budget import Hold

log = logging.getLogger(__name__)


class FrameworkWatch:
    """Asks for the framework's health; `healthy` is set while the last answer was good."""

    def __init__(self, framework: FrameworkSocket, pace: Pace) -> None:
        self._framework = framework
        self._pace = pace
        self._doubted = asyncio.Event()
        self.healthy = asyncio.Event()

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, hold: Hold
    ) -> Heard:
        """Call it; if it is gone, ask for its health at once, and until then count on nothing."""
        heard = await self._framework.invoke(headers, body, hold)
        if isinstance(heard, Gone):
            self.healthy.clear()
            self._doubted.set()
        return heard

    async def run(self) -> None:
        """For ever; more often while it is not healthy."""
        while True:
            self._doubted.clear()
            self._told(is_healthy=await self._framework.is_healthy())
            seconds = self._pace.health if self.healthy.is_set() else self._pace.retry
            try:
                async with asyncio.timeout(seconds):
                    await self._doubted.wait()
            except TimeoutError:
                pass

    def _told(self, *, is_healthy: bool) -> None:
        if is_healthy == self.healthy.is_set():
            return
        if is_healthy:
            self.healthy.set()
            log.info("framework_healthy")
        else:
            self.healthy.clear()
            log.warning("framework_not_healthy")
