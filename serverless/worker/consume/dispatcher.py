"""What becomes of every message: it is looked at, decided about, and dealt with."""

import asyncio
import logging

from serverless.worker.consume.decision import (
    Announce,
    Begin,
    Bury,
    Decision,
    Drop,
    Identity,
    Postpone,
    Settle,
    decide,
)
from serverless.worker.delivery import ACKNOWLEDGED, Delivery, call_in, refused
from serverless.worker.jetstream_errors import QueueError
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.run.attempt import Attempt, Workplace
from serverless.worker.run.record_store import OvertakenError, Stored, UnreadableRecordError
from shared.config import logfmt
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.message import Call, DeadLetter
from shared.invocation.queue_names import record_key
from shared.invocation.record import Record
from shared.invocation.state import FailureClass

log = logging.getLogger(__name__)


class Reception:
    """Takes messages in; what it cannot deal with now comes again when its ack wait is over."""

    def __init__(self, place: Workplace, me: Identity, metrics: WorkerMetrics) -> None:
        self._place = place
        self._me = me
        self._metrics = metrics
        self._attempts: dict[str, Attempt] = {}
        self._in_hand: set[int] = set()
        self._is_abandoned = False

    async def receive(self, given: Delivery) -> None:
        """Deal with one message to the end; ignore it while an earlier delivery of it is in hand.

        It comes again to a worker that stood still for longer than the ack wait, and goes on.
        """
        call = call_in(given, self._place.queue.names)
        invocation_id = call.invocation_id if call else ""
        with logfmt.bound(requestID=self._me.request_id, invocationID=invocation_id):
            if given.sequence in self._in_hand:
                log.warning("delivered_again")
                return
            self._in_hand.add(given.sequence)
            try:
                await self._deal(given, call)
            except OvertakenError:
                log.info("overtaken")  # whoever was faster deals with the message too
            except (QueueError, UnreadableRecordError) as error:
                log.warning("left_alone", extra={"reason": str(error)})
            finally:
                self._in_hand.discard(given.sequence)

    def nudge(self, invocation_id: str) -> None:
        """Somebody has changed this invocation's record."""
        if attempt := self._attempts.get(invocation_id):
            attempt.nudge()

    def abandon(self) -> None:
        """Break off every attempt, also those about to begin, and leave the runs to others."""
        self._is_abandoned = True
        for attempt in self._attempts.values():
            attempt.abandon()

    async def _deal(self, given: Delivery, call: Call | None) -> None:
        try:
            stored = await self._stored(call)
        except UnreadableRecordError:
            decision: Decision = Bury("its record cannot be read", FailureClass.UNREADABLE)
            stored = None
        else:
            record = stored.record if stored else None
            decision = decide(given, call, record, self._me, self._place.clock.now())
        match decision:
            case Drop():
                await self._place.queue.answer(given.reply, ACKNOWLEDGED)
            case Postpone(seconds):
                await self._place.queue.answer(given.reply, refused(seconds))
            case Bury():
                await self._bury(given, call, decision)
        if stored and call:
            await self._deal_with_record(given, stored, decision)

    async def _deal_with_record(self, given: Delivery, stored: Stored, decision: Decision) -> None:
        match decision:
            case Announce():
                await self._place.outlet.publish(given, stored)
            case Settle(record):
                await self._place.outlet.settle(given, stored, record)
            case Begin() if self._is_abandoned:
                await self._place.queue.answer(given.reply, refused(self._place.pace.retry))
            case Begin(record):
                await self._begin(given, stored, record)

    async def _stored(self, call: Call | None) -> Stored | None:
        if call is None:
            return None
        return await self._place.records.read(record_key(call.request_id, call.invocation_id))

    async def _begin(self, given: Delivery, stored: Stored, running: Record) -> None:
        since = asyncio.get_running_loop().time()
        held = await self._place.records.change(stored, running)
        self._metrics.begun(running)
        log.info("attempt_begun", extra={"run": running.run, "attempt": running.attempts})
        attempt = Attempt(self._place, given, held, since)
        invocation_id = held.key.partition(".")[2]
        self._attempts[invocation_id] = attempt
        if self._is_abandoned:
            attempt.abandon()
        try:
            await attempt.run()
        finally:
            if self._attempts.get(invocation_id) is attempt:
                del self._attempts[invocation_id]

    async def _bury(self, given: Delivery, call: Call | None, decision: Bury) -> None:
        letter = DeadLetter(
            reason=decision.why,
            failure_class=decision.failure_class,
            call=call,
            original=given.data[:INLINE_BYTES],  # as a letter it grows, and must still be taken
            headers=dict(given.headers),
            at=given.sent_at,
        )
        log.error("message_buried", extra={"reason": decision.why, "subject": given.subject})
        subject = self._place.queue.names.dead_letter_subject(self._me.request_id)
        await self._place.outlet.bury(given, subject, letter)
