"""Collects the reports of workers."""

from collections.abc import Mapping

import msgspec
from nats.aio.msg import Msg

from controller.runtime import Clock
from serverless.nats.connection import QueueConnection
from serverless.nats.subscription import ReconnectingSubscription
from shared.invocation import worker_report
from shared.invocation.queue_names import QueueNames, parse_record_key
from shared.invocation.worker_report import REPORT_TTL_SECONDS, WorkerReport


class WorkerReports:
    """The last report of each worker until it expires; one subscription in a process."""

    def __init__(self, connection: QueueConnection, queue_names: QueueNames, clock: Clock) -> None:
        self._connection = connection
        self._prefix = f"$KV.{queue_names.worker_bucket}."
        self._clock = clock
        self._received: dict[str, dict[str, tuple[float, WorkerReport]]] = {}

    def get(self, function_name: str) -> Mapping[str, WorkerReport]:
        """Return the unexpired reports of a function, by worker."""
        oldest = self._clock.monotonic() - REPORT_TTL_SECONDS
        reports = self._received.get(function_name, {})
        for name in [name for name, (at, _) in reports.items() if at < oldest]:
            del reports[name]
        return {name: report for name, (_, report) in reports.items()}

    def forget(self, function_name: str) -> None:
        """Drop the reports of a deleted function."""
        self._received.pop(function_name, None)

    async def run(self) -> None:
        """Collect reports until cancelled."""
        await ReconnectingSubscription(
            self._connection, f"{self._prefix}>", self._handle_message, self._clock
        ).run()

    async def _handle_message(self, message: Msg) -> None:
        function_name, worker = parse_record_key(message.subject.removeprefix(self._prefix))
        reports = self._received.setdefault(function_name, {})
        try:
            report = worker_report.decode_report(message.data)
        except msgspec.DecodeError:
            reports.pop(worker, None)  # a deletion, or an unknown format
        else:
            reports[worker] = (self._clock.monotonic(), report)
