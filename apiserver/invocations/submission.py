"""What it takes to accept an invocation, and what is told of it, as values."""

from dataclasses import dataclass

from apiserver.errors import (
    ConflictError,
    Detail,
    InvalidRequestError,
    QueueFullError,
    ServiceUnavailableError,
)
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.payload_upload import Payload
from apiserver.invocations.request_hash import invocation_hash
from apiserver.nats.errors import QueueError, QueueRefusedError, StreamAbsentError
from apiserver.nats.port import Kept
from shared.invocation import transition
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.queue_names import record_key
from shared.invocation.record import Record, Request, Result
from shared.invocation.state import FailureClass, State
from shared.v1alpha1.function import Function, FunctionSpec


class UnknownOutcomeError(ServiceUnavailableError):
    """Whether the invocation was accepted is not known; look for it under its id."""


@dataclass(frozen=True, slots=True)
class Submission:
    """All that it takes to accept an invocation: its function, its id and its payload."""

    function: Function
    invocation_id: str
    command: Invoke
    payload: Payload
    inline_bytes: int = INLINE_BYTES

    @property
    def key(self) -> str:
        """The key of its record."""
        return record_key(self.command.request_id, self.invocation_id)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An invocation that is accepted, and whether by this request."""

    invocation: Invocation
    is_new: bool


def require_kept(command: Invoke, retention_seconds: float) -> None:
    """Refuse an invocation that could outlive its record."""
    if (command.ttl_seconds or 0) >= retention_seconds:
        message = f"is not below the retention of records, which is {retention_seconds:g} s"
        details = (Detail("ttlSeconds", message),)
        raise InvalidRequestError("the invocation would be invalid", details=details)


def require_keeping(command: Invoke, spec: FunctionSpec, retention_seconds: float) -> None:
    """Refuse it also where the time is its function's, which kubectl may make as long as it likes.

    A shorter one of the caller's own will do.
    """
    if command.ttl_seconds is None and spec.ttl_seconds >= retention_seconds:
        raise ConflictError(
            f"ttlSeconds of the function ({spec.ttl_seconds}) is not below the retention of "
            f"records, which is {retention_seconds:g} s; change the function, or give a shorter one"
        )


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
        inline_bytes=submission.inline_bytes,
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
