"""Polls the health of the framework."""

import asyncio
import logging
from collections.abc import Mapping

from serverless.worker.framework.client import FrameworkClient
from serverless.worker.framework.result import FrameworkResult, NoResponse
from serverless.worker.intervals import Intervals
from serverless.worker.memory_budget import AttemptMemory

log = logging.getLogger(__name__)


class MonitoredFramework:
    """`healthy` is set while the last health check succeeded."""

    def __init__(self, client: FrameworkClient, intervals: Intervals) -> None:
        self._client = client
        self._intervals = intervals
        self._check_requested = asyncio.Event()
        self.healthy = asyncio.Event()

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, memory: AttemptMemory
    ) -> FrameworkResult:
        """Call the framework; without a response it counts as unhealthy until a check."""
        result = await self._client.invoke(headers, body, memory)
        if isinstance(result, NoResponse):
            self.healthy.clear()
            self._check_requested.set()
        return result

    async def run(self) -> None:
        """Check until cancelled, more often while the framework is unhealthy."""
        while True:
            self._check_requested.clear()
            self._set_healthy(is_healthy=await self._client.is_healthy())
            seconds = (
                self._intervals.health_check_seconds
                if self.healthy.is_set()
                else self._intervals.retry_seconds
            )
            try:
                async with asyncio.timeout(seconds):
                    await self._check_requested.wait()
            except TimeoutError:
                pass

    def _set_healthy(self, *, is_healthy: bool) -> None:
        if is_healthy == self.healthy.is_set():
            return
        if is_healthy:
            self.healthy.set()
            log.info("framework_healthy")
        else:
            self.healthy.clear()
            log.warning("framework_not_healthy")
