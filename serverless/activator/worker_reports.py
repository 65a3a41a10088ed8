"""What the workers tell of themselves, heard by the way."""

from collections.abc import Mapping

import msgspec
from nats.aio.msg import Msg

from controller.runtime.clock import Clock
from serverless.nats.connection import QueueConnection
from serverless.nats.subscription import ReconnectingSubscription
from shared.invocation import worker_report
from shared.invocation.queue_names import QueueNames, parse_record_key
from shared.invocation.worker_report import REPORT_TTL_SECONDS, WorkerReport


class WorkerReports:
    """The last report of each worker, for as long as one is good; one subscription a process."""

    def __init__(self, connection: QueueConnection, queue_names: QueueNames, clock: Clock) -> None:
        self._connection = connection
        self._prefix = f"$KV.{queue_names.worker_bucket}."
        self._clock = clock
        self._received: dict[str, dict[str, tuple[float, WorkerReport]]] = {}

    def get(self, function_name: str) -> Mapping[str, WorkerReport]:
        """The workers of a function that are heard of, by their names."""
        oldest = self._clock.monotonic() - REPORT_TTL_SECONDS
        heard = self._received.get(function_name, {})
        for name in [name for name, (at, _) in heard.items() if at < oldest]:
            del heard[name]
        return {name: report for name, (_, report) in heard.items()}

    def forget(self, function_name: str) -> None:
        """Keep nothing of a function that is gone."""
        self._received.pop(function_name, None)

    async def run(self) -> None:
        """Listen for ever; reports come every few seconds."""
        await ReconnectingSubscription(
            self._connection, f"{self._prefix}>", self._handle_message, self._clock
        ).run()

    async def _handle_message(self, message: Msg) -> None:
        request_id, worker = parse_record_key(message.subject.removeprefix(self._prefix))
        heard = self._received.setdefault(request_id, {})
        try:
            report = worker_report.decode_report(message.data)
        except msgspec.DecodeError:
            heard.pop(worker, None)  # a removal, or nothing that we know
        else:
            heard[worker] = (self._clock.monotonic(), report)
