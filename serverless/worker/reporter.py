"""Publishes what a worker does, for the activator."""

import asyncio
import logging
from typing import Final

from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.consume.slots import Slots
from serverless.worker.intervals import Intervals
from shared.invocation import worker_report
from shared.invocation.queue_names import QueueNames, worker_report_key
from shared.invocation.worker_report import WorkerReport

MIN_REPORT_SECONDS: Final = 1.0  # at most one report in this time, however often the slots change

log = logging.getLogger(__name__)


class WorkerReporter:
    """Reports periodically, and soon after the slots have changed."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        identity: WorkerIdentity,
        slots: Slots,
        intervals: Intervals,
    ) -> None:
        self._jetstream = jetstream
        self._slots = slots
        self._intervals = intervals
        key = worker_report_key(identity.function_name, identity.worker)
        self._subject = f"$KV.{queue_names.worker_bucket}.{key}"
        self.is_draining = False

    async def run(self, version: str) -> None:
        """Report until cancelled."""
        while True:
            self._slots.changed.clear()
            if await self._publish_report(self._build_report(version)):
                await asyncio.sleep(min(MIN_REPORT_SECONDS, self._intervals.report_seconds))
            try:
                async with asyncio.timeout(self._intervals.report_seconds):
                    await self._slots.changed.wait()
            except TimeoutError:
                pass

    def _build_report(self, version: str) -> WorkerReport:
        return WorkerReport(
            running=self._slots.running,
            last_active=self._slots.last_active,
            version=version,
            draining=self.is_draining,
        )

    async def _publish_report(self, report: WorkerReport) -> bool:
        try:
            await self._jetstream.publish(self._subject, worker_report.encode_report(report))
        except QueueError as error:
            log.info("not_reported", extra={"reason": str(error)})
            return False
        return True
