"""Finishes a run: writes the final record, publishes the outcome and acknowledges."""

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
    """Finishes runs in the order that loses nothing if the process dies at any point."""

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
        """Write the final record, then publish it; raises RecordConflictError if that fails.

        Raises StreamLimitError if there is no room and the record could be smaller.
        """
        is_smallest = final.result is None or not final.result.body.inline
        stored = await self._record_store.update(previous, final, wait_for_room=is_smallest)
        self._metrics.observe_finished(final)
        log.info("invocation_finished", extra={"state": final.state, "attempt": final.attempts})
        await self.publish_outcome(delivery, stored)

    async def publish_outcome(self, delivery: Delivery, final: StoredRecord) -> None:
        """Publish the outcome of a final record, mark it as published, and acknowledge."""
        for final_message in final_messages(self._queue_names, final.key, final.record):
            await self._publish_until_stored(
                final_message.subject, final_message.data, final_message.message_id
            )
        if not final.record.published:
            # The outcome is published in any case; without the mark the sweep publishes it again.
            with suppress(RecordConflictError, UnreadableRecordError, StreamLimitError):
                published = transition.published(final.record)
                await self._record_store.update(final, published, wait_for_room=False)
        await self._jetstream.acknowledge(delivery.reply, ACK)

    async def send_to_dead_letters(
        self, delivery: Delivery, subject: str, letter: DeadLetterMessage
    ) -> None:
        """Publish a dead letter for a message without a record, and terminate the message."""
        message_id = f"message.{delivery.sequence}"
        await self._publish_until_stored(subject, message.encode_message(letter), message_id)
        await self._jetstream.acknowledge(delivery.reply, TERM)

    async def _publish_until_stored(self, subject: str, data: bytes, message_id: str) -> None:
        """Retry until the message is stored; otherwise the sweep would publish it much later."""
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
