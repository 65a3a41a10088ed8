"""A worker's word about itself, for whoever decides how many there should be."""

import asyncio
import logging
from typing import Final

from serverless.worker.consume.decision import Identity
from serverless.worker.consume.slots import Slots
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import QueueError
from shared.invocation import worker_report
from shared.invocation.queue_names import worker_key
from shared.invocation.worker_report import WorkerReport

SHORTEST_SECONDS: Final = 1.0  # what changes more often is not worth a message each time

log = logging.getLogger(__name__)


class Reporter:
    """Reports every few seconds, and soon after something has changed."""

    def __init__(self, queue: Queue, me: Identity, slots: Slots, pace: Pace) -> None:
        self._queue = queue
        self._slots = slots
        self._pace = pace
        key = worker_key(me.request_id, me.worker)
        self._subject = f"$KV.{queue.names.worker_bucket}.{key}"
        self.is_draining = False

    async def run(self, version: str) -> None:
        """For ever."""
        while True:
            self._slots.changed.clear()
            if await self._is_told(self._report(version)):
                await asyncio.sleep(min(SHORTEST_SECONDS, self._pace.report))
            try:
                async with asyncio.timeout(self._pace.report):
                    await self._slots.changed.wait()
            except TimeoutError:
                pass

    def _report(self, version: str) -> WorkerReport:
        return WorkerReport(
            running=self._slots.running,
            last_active=self._slots.last_active,
            version=version,
            draining=self.is_draining,
        )

    async def _is_told(self, report: WorkerReport) -> bool:
        try:
            await self._queue.tell(self._subject, worker_report.encode(report))
        except QueueError as error:
            log.info("not_reported", extra={"reason": str(error)})
            return False
        return True
