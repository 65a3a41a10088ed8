"""Carries out the decision about a record, in an order that is safe at a crash."""

import logging
from collections.abc import Awaitable, Callable

from controller.runtime import Clock
from serverless.activator.sweep.decision import (
    Existence,
    Finish,
    PublishOutcome,
    QueuedCall,
    RecordFacts,
    Requeue,
    Skip,
    decide,
)
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.activator.sweep.metrics import SettleMetrics
from serverless.nats.stored_message import StoredMessage
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord
from shared.time import now_ms

log = logging.getLogger(__name__)

ExistenceCheck = Callable[[str, InvocationRecord], Awaitable[Existence]]


class RecordSettler:
    """Finishes or requeues records that no worker can finish."""

    def __init__(
        self, invocation_store: InvocationStore, metrics: SettleMetrics, clock: Clock
    ) -> None:
        self._invocation_store = invocation_store
        self._metrics = metrics
        self._clock = clock

    async def settle(self, stored_message: StoredMessage, check_existence: ExistenceCheck) -> bool:
        """Do the next step; return whether the record is final and published, or unreadable."""
        record = try_decode_record(stored_message)
        key = self._invocation_store.record_key_of(stored_message)
        if record is None or (record.is_final and record.published):
            return True
        facts = await self._read_facts(
            key, stored_message, record, await check_existence(key, record)
        )
        match decide(facts):
            case Skip():
                return False
            case Finish(final):
                return await self._finish(key, final, stored_message.sequence, facts.queued_call)
            case PublishOutcome():
                return await self._publish_outcome(
                    key, record, stored_message.sequence, facts.queued_call
                )
            case Requeue(released):
                await self._requeue(key, released or record, stored_message.sequence, facts)
        return False

    async def _read_facts(
        self,
        record_key: str,
        stored_message: StoredMessage,
        record: InvocationRecord,
        existence: Existence,
    ) -> RecordFacts:
        is_alive = await self._invocation_store.is_worker_alive(record_key, record.worker)
        return RecordFacts(
            record=record,
            changed_at=stored_message.stored_at,
            queued_call=await self._invocation_store.get_queued_call(record_key),
            is_worker_alive=is_alive,
            existence=existence,
            now=now_ms(self._clock),
        )

    async def _finish(
        self,
        record_key: str,
        final: InvocationRecord,
        revision: int,
        queued_call: QueuedCall | None,
    ) -> bool:
        written = await self._invocation_store.update_record(record_key, final, revision)
        if written is None:
            return False
        self._metrics.count_finished(parse_record_key(record_key)[0], final.state)
        self._log("invocation_settled", record_key, final)
        if final.worker:
            # The worker may still be running it.
            await self._invocation_store.notify_cancelled(record_key)
        return await self._publish_outcome(record_key, final, written, queued_call)

    async def _publish_outcome(
        self,
        record_key: str,
        final: InvocationRecord,
        revision: int,
        queued_call: QueuedCall | None,
    ) -> bool:
        await self._invocation_store.publish_outcome(record_key, final)
        if queued_call is not None and is_stale_call(queued_call, final):
            await self._invocation_store.delete_queued_call(queued_call)
        await self._invocation_store.mark_published(record_key, final, revision)
        return True

    async def _requeue(
        self, record_key: str, record: InvocationRecord, revision: int, facts: RecordFacts
    ) -> None:
        if record is not facts.record:
            if await self._invocation_store.update_record(record_key, record, revision) is None:
                return
        elif facts.queued_call is not None:
            # The call of an older run blocks the subject.
            await self._invocation_store.delete_queued_call(facts.queued_call)
        await self._invocation_store.queue_call(record_key, record)
        self._log("invocation_queued_again", record_key, record)

    def _log(self, event: str, record_key: str, record: InvocationRecord) -> None:
        function_name, invocation_id = parse_record_key(record_key)
        fields = {"function": function_name, "invocationID": invocation_id}
        log.info(event, extra={**fields, "state": record.state, "run": record.run})


def is_stale_call(queued_call: QueuedCall, final: InvocationRecord) -> bool:
    """Whether the message is of the finished run of the function or of an earlier one."""
    call = queued_call.call
    return call is not None and call.function_uid == final.function_uid and call.run <= final.run
