"""One attempt of a run: calls the framework and records the result."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace as changed

from serverless.nats.errors import QueueError, StreamLimitError
from serverless.nats.requests import JetStreamClient
from serverless.worker.deadlines import attempt_deadline
from serverless.worker.delivery import Delivery, nak_with_delay
from serverless.worker.framework.health import MonitoredFramework
from serverless.worker.framework.request import request_headers
from serverless.worker.framework.result import (
    CallCancelled,
    DeadlineExceeded,
    FrameworkResult,
    NoResponse,
    PayloadLost,
)
from serverless.worker.intervals import Intervals
from serverless.worker.memory_budget import MemoryBudgets
from serverless.worker.run.body_store import BodyLostError, BodyStore
from serverless.worker.run.finish import RunFinisher
from serverless.worker.run.heartbeat import Heartbeat, SupersededError, is_same_attempt
from serverless.worker.run.record_store import (
    RecordConflictError,
    RecordStore,
    StoredRecord,
    UnreadableRecordError,
)
from serverless.worker.run.result_policy import Retry, RunOutcome, decide_result
from shared.clock import Clock
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames, parse_record_key, result_object_name
from shared.invocation.record import InvocationBody
from shared.invocation.state import InvocationState
from shared.time import now_ms

NO_INLINE_BYTES: Final = 0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The collaborators that all attempts of a worker share."""

    jetstream: JetStreamClient
    queue_names: QueueNames
    record_store: RecordStore
    body_store: BodyStore
    framework: MonitoredFramework
    memory_budgets: MemoryBudgets
    finisher: RunFinisher
    clock: Clock
    intervals: Intervals


class Attempt:
    """Runs a delivery since `begun_at`; its stored record says that this attempt is running."""

    def __init__(
        self,
        context: AttemptContext,
        delivery: Delivery,
        stored_record: StoredRecord,
        begun_at: float,
    ) -> None:
        self._context = context
        self._begun_at = begun_at
        self._delivery = delivery
        self._stored_record = stored_record
        self._heartbeat = Heartbeat(
            context.jetstream, context.record_store, delivery, stored_record, context.intervals
        )
        self._memory = context.memory_budgets.for_attempt()
        self._call: asyncio.Task[FrameworkResult] | None = None
        self._interruption: FrameworkResult | None = None

    def check_record_now(self) -> None:
        """Read the record now: it may have been cancelled."""
        self._heartbeat.check_record_now()

    def abandon(self) -> None:
        """Interrupt the attempt and leave the run to another one."""
        self._interrupt(NoResponse("the worker was stopped"))

    async def run(self) -> None:
        """Run to the outcome, or until another process owns the run; then publish nothing."""
        try:
            async with asyncio.TaskGroup() as group:
                heartbeat = group.create_task(self._heartbeat.run(self._cancel))
                self._call = group.create_task(self._invoke_framework())
                await self._apply_result(await self._wait_for_result(self._call))
                heartbeat.cancel()
        except* (RecordConflictError, SupersededError, UnreadableRecordError):
            log.warning(
                "attempt_superseded", extra={"attempt": self._stored_record.record.attempts}
            )
        except* QueueError as errors:
            log.warning("left_alone", extra={"reason": str(errors.exceptions[0])})
        finally:
            self._memory.release()

    def _cancel(self) -> None:
        self._interrupt(CallCancelled())

    async def _invoke_framework(self) -> FrameworkResult:
        record = self._stored_record.record
        try:
            body = await self._read_payload(record.request.body)
        except BodyLostError:
            return PayloadLost()
        except QueueError as error:
            return NoResponse(f"the payload cannot be read ({error})")
        await self._heartbeat.beat_if_late(self._begun_at, self._cancel)
        headers = request_headers(self._stored_record.key, record)
        return await self._context.framework.invoke(headers, body, self._memory)

    async def _read_payload(self, body: InvocationBody) -> bytes | bytearray:
        if body.object_name:
            await self._memory.payload.acquire(body.size)
        return await self._context.body_store.read_body(body)

    async def _wait_for_result(self, call: asyncio.Task[FrameworkResult]) -> FrameworkResult:
        if self._interruption:
            call.cancel()
        remaining_ms = attempt_deadline(self._stored_record.record) - now_ms(self._context.clock)
        await asyncio.wait({call}, timeout=max(0, remaining_ms) / 1000)
        if not call.done():
            self._interrupt(DeadlineExceeded())
            await asyncio.wait({call})
        return self._interruption if call.cancelled() and self._interruption else call.result()

    def _interrupt(self, result: FrameworkResult) -> None:
        self._interruption = self._interruption or result
        if self._call:
            self._call.cancel()

    async def _apply_result(self, framework_result: FrameworkResult) -> None:
        match decide_result(
            self._stored_record.record, framework_result, now_ms(self._context.clock)
        ):
            case RunOutcome() as outcome:
                await self._finish(outcome)
            case Retry(reason):
                await self._release(reason)

    async def _finish(self, outcome: RunOutcome) -> None:
        body = await self._store_body(outcome.body, self._stored_record.record.request.inline_bytes)
        self._heartbeat.stop_checking_record()
        try:
            try:
                await self._write_final(outcome, body)
            except StreamLimitError:
                await self._write_final(
                    outcome, await self._store_body(outcome.body, NO_INLINE_BYTES)
                )
        except RecordConflictError as error:
            await self._finish_cancelled(error)

    async def _write_final(self, outcome: RunOutcome, body: InvocationBody) -> None:
        result, now = changed(outcome.result, body=body), now_ms(self._context.clock)
        final = transition.finished(self._stored_record.record, outcome.state, result, now)
        await self._context.finisher.finish(self._delivery, self._stored_record, final)

    async def _store_body(self, body: bytes | bytearray, inline_bytes: int) -> InvocationBody:
        """Retry until the body is stored; the heartbeat keeps the run ours meanwhile."""
        record = self._stored_record.record
        _, invocation_id = parse_record_key(self._stored_record.key)
        name = result_object_name(record.function_uid, invocation_id, record.run, record.attempts)
        tries = 0
        while True:
            try:
                return await self._context.body_store.store_body(name, body, inline_bytes)
            except QueueError as error:
                tries += 1
                log.warning("result_not_kept", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._context.intervals.retry_delay_seconds(tries))

    async def _release(self, reason: str) -> None:
        record = self._stored_record.record
        self._heartbeat.stop_checking_record()
        log.warning("attempt_failed", extra={"attempt": record.attempts, "reason": reason})
        try:
            await self._context.record_store.update(
                self._stored_record, transition.requeued(record)
            )
        except RecordConflictError as error:
            await self._finish_cancelled(error)
            return
        delay = nak_with_delay(self._context.intervals.retry_delay_seconds(record.attempts))
        await self._context.jetstream.acknowledge(self._delivery.reply, delay)

    async def _finish_cancelled(self, error: RecordConflictError) -> None:
        """Finish as cancelled if a cancellation caused the conflict; raise the error otherwise."""
        current = error.current
        if current is None or not is_same_attempt(self._stored_record.record, current.record):
            raise error
        if current.record.state is not InvocationState.CANCELLING:
            raise error
        final = transition.cancelled(current.record, now_ms(self._context.clock))
        await self._context.finisher.finish(self._delivery, current, final)
