"""The last steps of a run: make it final, tell everybody, and let the message go."""

import asyncio
import logging
from contextlib import suppress

from serverless.nats.errors import QueueError, StreamLimitError
from serverless.nats.requests import JetStreamClient
from serverless.worker.delivery import ACK, TERM, Delivery
from serverless.worker.intervals import Intervals
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.run.record_store import (
    RecordConflictError,
    RecordStore,
    StoredRecord,
    UnreadableRecordError,
)
from shared.invocation import message, transition
from shared.invocation.final_messages import final_messages
from shared.invocation.message import DeadLetterMessage
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRecord

log = logging.getLogger(__name__)


class RunFinisher:
    """Ends runs in the one order that loses nothing wherever the process dies."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        record_store: RecordStore,
        metrics: WorkerMetrics,
        intervals: Intervals,
    ) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names
        self._record_store = record_store
        self._metrics = metrics
        self._intervals = intervals

    async def finish(
        self, delivery: Delivery, previous: StoredRecord, final: InvocationRecord
    ) -> None:
        """Decide the outcome here and now, then publish it; OvertakenError if we came too late.

        StreamLimitError where the record could be smaller.
        """
        is_smallest = final.result is None or not final.result.body.inline
        stored = await self._record_store.update(previous, final, wait_for_room=is_smallest)
        self._metrics.observe_finished(final)
        log.info("invocation_finished", extra={"state": final.state, "attempt": final.attempts})
        await self.publish_outcome(delivery, stored)

    async def publish_outcome(self, delivery: Delivery, final: StoredRecord) -> None:
        """Tell the outcome of a final record, mark that it was told, and acknowledge."""
        for each in final_messages(self._queue_names, final.key, final.record):
            await self._publish_until_stored(each.subject, each.data, each.message_id)
        if not final.record.published:
            # It is told, whoever has marked; where nobody has, the sweep tells it again.
            with suppress(RecordConflictError, UnreadableRecordError, StreamLimitError):
                marked = transition.published(final.record)
                await self._record_store.update(final, marked, wait_for_room=False)
        await self._jetstream.acknowledge(delivery.reply, ACK)

    async def send_to_dead_letters(
        self, delivery: Delivery, subject: str, letter: DeadLetterMessage
    ) -> None:
        """Tell the dead letters of a message that has no record, and let nobody have it again."""
        message_id = f"message.{delivery.sequence}"
        await self._publish_until_stored(subject, message.encode_message(letter), message_id)
        await self._jetstream.acknowledge(delivery.reply, TERM)

    async def _publish_until_stored(self, subject: str, data: bytes, message_id: str) -> None:
        """Until it is told: nobody else will do it before the sweep."""
        tries = 0
        while True:
            try:
                await self._jetstream.publish(subject, data, message_id=message_id)
            except QueueError as error:
                tries += 1
                log.warning("outcome_not_told", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._intervals.retry_delay_seconds(tries))
            else:
                return
