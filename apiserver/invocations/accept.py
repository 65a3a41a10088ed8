"""How an invocation is accepted: recorded first, then queued; told only when both is certain."""

import logging
from collections.abc import AsyncIterator, Callable
from functools import partial

from msgspec.structs import replace

from apiserver.clock import Clock
from apiserver.errors import ConflictError, NotFoundError, QueueFullError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.backpressure import RecordRoom, crowded
from apiserver.invocations.commands import Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.payload_upload import Intake
from apiserver.invocations.publish_outcome import Settlement
from apiserver.invocations.queue_depth import QueueDepth, full
from apiserver.invocations.submission import (
    Acceptance,
    Submission,
    failure_of,
    first_record,
    invocation_of,
    is_of,
    orphaned,
    replayed,
    require_keeping,
    require_kept,
    unknown,
)
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError, QueueRefusedError, RecordStaleError
from apiserver.nats.port import Kept, Queue
from apiserver.timestamps import milliseconds
from shared.invocation.message import call_of
from shared.invocation.queue_names import record_key, request_object
from shared.invocation.record import Record, Request
from shared.v1alpha1.function import Function

log = logging.getLogger(__name__)


class Ingress:
    """Accepts invocations, each once, on any replica."""

    def __init__(
        self,
        queue: Queue,
        functions: FunctionLookup,
        metrics: InvocationMetrics,
        clock: Clock,
        make_id: Callable[[], str],
        retention_seconds: float,
    ) -> None:
        self._queue = queue
        self._functions = functions
        self._metrics = metrics
        self._clock = clock
        self._make_id = make_id
        self._retention_seconds = retention_seconds
        self._depth = QueueDepth(queue.calls, clock)
        self._room = RecordRoom(queue, clock)
        self._intake = Intake(queue.bodies, make_id)
        self._settlement = Settlement(queue)

    async def receive(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Take in the payload where there is room; nothing of it is visible to anybody yet."""
        require_kept(command, self._retention_seconds)
        function = await self._functions.accepting(command.request_id)
        require_keeping(command, function.spec, self._retention_seconds)
        invocation_id = command.invocation_id or self._make_id()
        await self._require_room(function, command)
        inline_bytes = await self._room.share()
        name = request_object(function.metadata.uid, invocation_id)
        still_there = partial(self._functions.require_unchanged, function)
        payload = await self._intake.receive(command.request_id, name, chunks, still_there)
        return Submission(function, invocation_id, command, payload, inline_bytes)

    async def within_room(self, request: Request) -> Request:
        """The request with the share of the room that its next run may take."""
        return replace(request, inline_bytes=await self._room.share())

    async def accept(self, submission: Submission) -> Acceptance:
        """Record and queue the invocation, or find the one that is there.

        NotFoundError, ConflictError, QueueFullError, UnknownOutcomeError, QueueError, ClusterError.
        """
        try:
            await self._functions.require_unchanged(submission.function)
            acceptance = await self._accept(submission)
        except (
            kube_errors.ClusterError,
            ConflictError,
            NotFoundError,
            QueueFullError,
            QueueRefusedError,
        ):
            await self._discard(submission)
            raise
        if acceptance.is_new:
            self._metrics.accepted(submission.command.request_id)
        else:
            await self._discard(submission)
        return acceptance

    async def _accept(self, submission: Submission) -> Acceptance:
        record = first_record(submission, milliseconds(self._clock))
        try:
            placed = await self._place(submission, record)
            if isinstance(placed, Kept):
                return replayed(submission, placed, record.hash)
            await self._publish(submission, record, placed)
        except QueueError as error:
            raise failure_of(submission, error) from error
        return Acceptance(invocation_of(submission, record), is_new=True)

    async def _place(self, submission: Submission, record: Record) -> int | Kept:
        """The revision of the new record, or the record that has its place."""
        revision = 0
        while True:
            try:
                return await self._queue.records.write(submission.key, record, revision)
            except RecordStaleError:
                kept = await self._queue.records.find(submission.key)
            if kept is not None and is_of(kept, submission.function):
                return kept
            revision = 0 if kept is None else await self._cleared(submission, kept)

    async def _cleared(self, submission: Submission, kept: Kept) -> int:
        """The revision of a place that a deleted function has left, with its outcome told."""
        record = kept.record
        if record is None:
            return kept.revision
        try:
            if not record.is_final:
                record = orphaned(record, milliseconds(self._clock))
                revision = await self._queue.records.write(submission.key, record, kept.revision)
                self._metrics.finished(submission.command.request_id, record.state)
                kept = Kept(record, revision)
            settled = await self._settlement.settle(
                invocation_of(submission, record), kept.revision
            )
        except RecordStaleError:
            return 0  # somebody else is at it: look again
        return settled.revision

    async def _publish(self, submission: Submission, record: Record, revision: int) -> None:
        """Queue the call; where there is no room for it, take the record back."""
        call = call_of(submission.command.request_id, submission.invocation_id, record)
        try:
            await self._queue.calls.publish(call)
        except QueueRefusedError as refusal:
            await self._take_back(submission, revision, refusal)
        except QueueError as error:
            raise unknown(submission.invocation_id) from error  # recorded: the sweep goes on

    async def _take_back(
        self, submission: Submission, revision: int, refusal: QueueRefusedError
    ) -> None:
        """Raise the refusal, unless somebody has gone on with the record: then it is accepted."""
        try:
            await self._queue.records.take_back(submission.key, revision)
        except RecordStaleError:
            return
        except QueueError as error:
            raise unknown(submission.invocation_id) from error
        raise refusal

    async def _require_room(self, function: Function, command: Invoke) -> None:
        """Refuse more than there is room for; what is there already may be repeated."""
        refusal = await self._refusal(function)
        if refusal is None:
            return
        kept = None
        if command.invocation_id is not None:
            key = record_key(command.request_id, command.invocation_id)
            kept = await self._queue.records.find(key)
        if kept is None or not is_of(kept, function):
            raise refusal

    async def _refusal(self, function: Function) -> QueueFullError | None:
        """Why the function may have no more queued now."""
        if not await self._depth.has_room(function):
            return full(function)
        return None if await self._room.is_left() else crowded()

    async def _discard(self, submission: Submission) -> None:
        """Remove a payload that is in no record; what stays is removed by its age."""
        name = submission.payload.body.object_name
        if not name:
            return
        try:
            await self._queue.bodies.delete(submission.command.request_id, name)
        except QueueError as error:
            log.warning("payload_left", extra={"object": name, "queueError": str(error)})
