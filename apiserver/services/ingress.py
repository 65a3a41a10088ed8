"""How an invocation is accepted: recorded first, then queued; told only when both is certain."""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from apiserver.clock import Clock
from apiserver.errors import (
    ConflictError,
    Detail,
    InvalidRequestError,
    QueueFullError,
    ServiceUnavailableError,
)
from apiserver.invocation_commands import Invocation, Invoke
from apiserver.milliseconds import milliseconds
from apiserver.queue_errors import (
    QueueError,
    QueueRefusedError,
    RecordStaleError,
    StreamAbsentError,
)
from apiserver.queue_gateway import Kept, Queue
from apiserver.services.function_lookup import FunctionLookup
from apiserver.services.ingress_metrics import IngressMetrics
from apiserver.services.intake import Intake, Payload
from apiserver.services.invocation_hash import invocation_hash
from apiserver.services.queue_depth import QueueDepth, full
from apiserver.services.settlement import Settlement
from shared.invocation import transition
from shared.invocation.message import call_of
from shared.invocation.queue_names import record_key, request_object
from shared.invocation.record import Record, Request, Result
from shared.invocation.state import FailureClass, State
from shared.v1alpha1.function import Function

log = logging.getLogger(__name__)


class UnknownOutcomeError(ServiceUnavailableError):
    """Whether the invocation was accepted is not known; look for it under its id."""


@dataclass(frozen=True, slots=True)
class Submission:
    """All that it takes to accept an invocation: its function, its id and its payload."""

    function: Function
    invocation_id: str
    command: Invoke
    payload: Payload

    @property
    def key(self) -> str:
        """The key of its record."""
        return record_key(self.command.request_id, self.invocation_id)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An invocation that is accepted, and whether by this request."""

    invocation: Invocation
    is_new: bool


class Ingress:
    """Accepts invocations, each once, on any replica."""

    def __init__(
        self,
        queue: Queue,
        functions: FunctionLookup,
        metrics: IngressMetrics,
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
        self._intake = Intake(queue.bodies, make_id)
        self._settlement = Settlement(queue)

    async def receive(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Take in the payload where there is room; nothing of it is visible to anybody yet."""
        require_kept(command, self._retention_seconds)
        function = await self._functions.accepting(command.request_id)
        invocation_id = command.invocation_id or self._make_id()
        await self._require_room(function, command)
        name = request_object(function.metadata.uid, invocation_id)
        payload = await self._intake.receive(command.request_id, name, chunks)
        return Submission(function, invocation_id, command, payload)

    async def accept(self, submission: Submission) -> Acceptance:
        """Record and queue the invocation, or find the one that is there.

        ConflictError, QueueFullError, UnknownOutcomeError, QueueError.
        """
        record = first_record(submission, milliseconds(self._clock))
        try:
            acceptance = await self._accept(submission, record)
        except (ConflictError, QueueFullError, QueueRefusedError):
            await self._discard(submission)
            raise
        if acceptance.is_new:
            self._metrics.accepted(submission.command.request_id)
        else:
            await self._discard(submission)
        return acceptance

    async def _accept(self, submission: Submission, record: Record) -> Acceptance:
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
        """Refuse more than the function may have queued; what is there already may be repeated."""
        if await self._depth.has_room(function):
            return
        kept = None
        if command.invocation_id is not None:
            key = record_key(command.request_id, command.invocation_id)
            kept = await self._queue.records.find(key)
        if kept is None or not is_of(kept, function):
            raise full(function)

    async def _discard(self, submission: Submission) -> None:
        """Remove a payload that is in no record; what stays is removed by its age."""
        name = submission.payload.body.object_name
        if not name:
            return
        try:
            await self._queue.bodies.delete(submission.command.request_id, name)
        except QueueError as error:
            log.warning("payload_left", extra={"object": name, "queueError": str(error)})


def require_kept(command: Invoke, retention_seconds: float) -> None:
    """Refuse an invocation that could outlive its record."""
    if (command.ttl_seconds or 0) >= retention_seconds:
        message = f"is not below the retention of records, which is {retention_seconds:g} s"
        details = (Detail("ttlSeconds", message),)
        raise InvalidRequestError("the invocation would be invalid", details=details)


def first_record(submission: Submission, now: int) -> Record:
    """The record with the whole request and the limits that hold now."""
    command, spec = submission.command, submission.function.spec
    request = Request(
        content_type=command.content_type,
        headers=command.headers,
        attributes=command.attributes,
        body=submission.payload.body,
        ttl_seconds=command.ttl_seconds or spec.ttl_seconds,
        timeout_seconds=spec.timeout_seconds,
        max_attempts=spec.max_attempts,
    )
    hash_ = invocation_hash(command, submission.payload)
    return transition.accepted(request, submission.function.metadata.uid, hash_, now)


def replayed(submission: Submission, kept: Kept, hash_: str) -> Acceptance:
    """The invocation that is there, if this is another request for it; ConflictError."""
    if kept.record is None or kept.record.hash != hash_:
        raise ConflictError(
            f"invocationID {submission.invocation_id!r} was used for another request; "
            "use a new one, or send the very same request"
        )
    return Acceptance(invocation_of(submission, kept.record), is_new=False)


def invocation_of(submission: Submission, record: Record) -> Invocation:
    return Invocation(submission.command.request_id, submission.invocation_id, record)


def is_of(kept: Kept, function: Function) -> bool:
    """Whether the record is of this very function, not of one that had its name before."""
    return kept.record is not None and kept.record.function_uid == function.metadata.uid


def orphaned(record: Record, now: int) -> Record:
    """The end of a record whose function is gone."""
    why = Result(
        error="its function was deleted", failure_class=FailureClass.FUNCTION_DELETED.value
    )
    return transition.finished(record, State.CANCELLED, why, now)


def failure_of(submission: Submission, error: QueueError) -> Exception:
    """What a caller is told: no room, not reached, or not known."""
    if isinstance(error, QueueRefusedError) and not isinstance(error, StreamAbsentError):
        return QueueFullError("the queue has no room for more", retry_after=1)
    return unknown(submission.invocation_id) if error.is_uncertain else error


def unknown(invocation_id: str) -> UnknownOutcomeError:
    return UnknownOutcomeError(
        f"whether the invocation {invocation_id!r} was accepted is not known yet; "
        "look for it, or send the very same request with this invocationID again",
        details=(Detail("invocationID", invocation_id),),
        retry_after=1,
    )
