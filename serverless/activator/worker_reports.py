"""What the workers tell of themselves, heard by the way."""

from collections.abc import Mapping

import msgspec
from nats.aio.msg import Msg

from controller.runtime.clock import Clock
from serverless.nats.connection import QueueConnection
from serverless.nats.subscription import Listening
from shared.invocation import worker_report
from shared.invocation.queue_names import QueueNames, ids_of
from shared.invocation.worker_report import LIFE_SECONDS, WorkerReport


class Reports:
    """The last report of each worker, for as long as one is good; one subscription a process."""

    def __init__(self, connection: QueueConnection, names: QueueNames, clock: Clock) -> None:
        self._connection = connection
        self._prefix = f"$KV.{names.worker_bucket}."
        self._clock = clock
        self._heard: dict[str, dict[str, tuple[float, WorkerReport]]] = {}

    def of(self, request_id: str) -> Mapping[str, WorkerReport]:
        """The workers of a function that are heard of, by their names."""
        oldest = self._clock.monotonic() - LIFE_SECONDS
        heard = self._heard.get(request_id, {})
        for name in [name for name, (at, _) in heard.items() if at < oldest]:
            del heard[name]
        return {name: report for name, (_, report) in heard.items()}

    def forget(self, request_id: str) -> None:
        """Keep nothing of a function that is gone."""
        self._heard.pop(request_id, None)

    async def run(self) -> None:
        """Listen for ever; reports come every few seconds."""
        await Listening(self._connection, f"{self._prefix}>", self._hear, self._clock).run()

    async def _hear(self, message: Msg) -> None:
        request_id, worker = ids_of(message.subject.removeprefix(self._prefix))
        heard = self._heard.setdefault(request_id, {})
        try:
            report = worker_report.decode(message.data)
        except msgspec.DecodeError:
            heard.pop(worker, None)  # a removal, or nothing that we know
        else:
            heard[worker] = (self._clock.monotonic(), report)
