"""Carries out the decision about each delivery."""

import asyncio
import logging

from serverless.nats.errors import QueueError
from serverless.worker.consume.decision import (
    Acknowledge,
    Decision,
    Finish,
    Postpone,
    PublishOutcome,
    SendToDeadLetters,
    StartAttempt,
    WorkerIdentity,
    decide,
)
from serverless.worker.delivery import ACK, Delivery, nak_with_delay, try_decode_call
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.run.attempt import Attempt, AttemptContext
from serverless.worker.run.record_store import (
    RecordConflictError,
    StoredRecord,
    UnreadableRecordError,
)
from shared.config import logfmt
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.message import CallMessage, DeadLetterMessage
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationRecord
from shared.invocation.state import FailureClass
from shared.time import now_ms

log = logging.getLogger(__name__)


class Dispatcher:
    """Handles deliveries; after an error the message is redelivered when its ack wait is over."""

    def __init__(
        self, context: AttemptContext, identity: WorkerIdentity, metrics: WorkerMetrics
    ) -> None:
        self._context = context
        self._identity = identity
        self._metrics = metrics
        self._attempts: dict[str, Attempt] = {}
        self._in_progress: set[int] = set()
        self._is_abandoned = False

    async def dispatch(self, delivery: Delivery) -> None:
        """Handle one delivery; ignore it while an earlier delivery of the message is handled.

        That happens if this worker was suspended for longer than the ack wait.
        """
        call = try_decode_call(delivery, self._context.queue_names)
        invocation_id = call.invocation_id if call else ""
        with logfmt.log_context(function=self._identity.function_name, invocationID=invocation_id):
            if delivery.sequence in self._in_progress:
                log.warning("delivered_again")
                return
            self._in_progress.add(delivery.sequence)
            try:
                await self._process(delivery, call)
            except RecordConflictError:
                log.info("overtaken")  # the process that wrote first also handles the message
            except (QueueError, UnreadableRecordError) as error:
                log.warning("left_alone", extra={"reason": str(error)})
            finally:
                self._in_progress.discard(delivery.sequence)

    def check_record_now(self, invocation_id: str) -> None:
        """Read the record of a running invocation at once, because it has changed."""
        if attempt := self._attempts.get(invocation_id):
            attempt.check_record_now()

    def abandon(self) -> None:
        """Interrupt all attempts, also those that are about to start; other workers retry them."""
        self._is_abandoned = True
        for attempt in self._attempts.values():
            attempt.abandon()

    async def _process(self, delivery: Delivery, call: CallMessage | None) -> None:
        try:
            stored = await self._read_record(call)
        except UnreadableRecordError:
            decision: Decision = SendToDeadLetters(
                "its record cannot be read", FailureClass.UNREADABLE
            )
            stored = None
        else:
            record = stored.record if stored else None
            decision = decide(delivery, call, record, self._identity, now_ms(self._context.clock))
        match decision:
            case Acknowledge():
                await self._context.jetstream.acknowledge(delivery.reply, ACK)
            case Postpone(seconds):
                await self._context.jetstream.acknowledge(delivery.reply, nak_with_delay(seconds))
            case SendToDeadLetters():
                await self._send_to_dead_letters(delivery, call, decision)
        if stored and call:
            await self._process_record(delivery, stored, decision)

    async def _process_record(
        self, delivery: Delivery, stored_record: StoredRecord, decision: Decision
    ) -> None:
        match decision:
            case PublishOutcome():
                await self._context.finisher.publish_outcome(delivery, stored_record)
            case Finish(record):
                await self._context.finisher.finish(delivery, stored_record, record)
            case StartAttempt() if self._is_abandoned:
                await self._context.jetstream.acknowledge(
                    delivery.reply, nak_with_delay(self._context.intervals.retry_seconds)
                )
            case StartAttempt(record):
                await self._run_attempt(delivery, stored_record, record)

    async def _read_record(self, call: CallMessage | None) -> StoredRecord | None:
        if call is None:
            return None
        return await self._context.record_store.read(
            record_key(call.function_name, call.invocation_id)
        )

    async def _run_attempt(
        self, delivery: Delivery, stored_record: StoredRecord, record: InvocationRecord
    ) -> None:
        begun_at = asyncio.get_running_loop().time()
        running = await self._context.record_store.update(stored_record, record)
        self._metrics.observe_attempt(record)
        log.info("attempt_begun", extra={"run": record.run, "attempt": record.attempts})
        attempt = Attempt(self._context, delivery, running, begun_at)
        invocation_id = running.key.partition(".")[2]
        self._attempts[invocation_id] = attempt
        if self._is_abandoned:
            attempt.abandon()
        try:
            await attempt.run()
        finally:
            if self._attempts.get(invocation_id) is attempt:
                del self._attempts[invocation_id]

    async def _send_to_dead_letters(
        self, delivery: Delivery, call: CallMessage | None, decision: SendToDeadLetters
    ) -> None:
        letter = DeadLetterMessage(
            reason=decision.reason,
            failure_class=decision.failure_class,
            call=call,
            # A dead letter is larger than its message, and must still fit into one.
            original=delivery.data[:DEFAULT_INLINE_BYTES],
            headers=dict(delivery.headers),
            at=delivery.sent_at,
        )
        log.error("message_buried", extra={"reason": decision.reason, "subject": delivery.subject})
        subject = self._context.queue_names.dead_letter_subject(self._identity.function_name)
        await self._context.finisher.send_to_dead_letters(delivery, subject, letter)
