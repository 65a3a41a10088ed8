"""Values and decisions for accepting an invocation."""

import hashlib
from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.errors import (
    ConflictError,
    ErrorDetail,
    InvalidRequestError,
    QueueFullError,
    ServiceUnavailableError,
)
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.payload_upload import Payload
from apiserver.nats.errors import QueueError, QueueRejectedError, StreamNotFoundError
from apiserver.nats.port import StoredRecord
from shared.invocation import transition
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import FailureClass, InvocationState
from shared.v1alpha1.function import Function, FunctionSpec

HASH_VERSION: Final = "v1"


class AcceptanceUnknownError(ServiceUnavailableError):
    """It is not known whether the invocation was accepted; read it by its id."""


@dataclass(frozen=True, slots=True)
class Submission:
    """An invocation to accept: its function, its id and its payload."""

    function: Function
    invocation_id: str
    command: Invoke
    payload: Payload
    inline_bytes: int = DEFAULT_INLINE_BYTES

    @property
    def key(self) -> str:
        """Return the key of its record."""
        return record_key(self.command.function_name, self.invocation_id)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An accepted invocation, and whether this request was the first for it."""

    invocation: Invocation
    is_new: bool


def require_ttl_within_retention(command: Invoke, retention_seconds: float) -> None:
    """Raise InvalidRequestError for an invocation that could outlive its record."""
    if (command.ttl_seconds or 0) >= retention_seconds:
        message = f"is not below the record retention, which is {retention_seconds:g} s"
        details = (ErrorDetail("ttlSeconds", message),)
        raise InvalidRequestError("the invocation would be invalid", details=details)


def require_function_ttl_within_retention(
    command: Invoke, spec: FunctionSpec, retention_seconds: float
) -> None:
    """Raise ConflictError if the ttl of the function is too long; kubectl can set any.

    A shorter ttl in the request prevents the error.
    """
    if command.ttl_seconds is None and spec.ttl_seconds >= retention_seconds:
        raise ConflictError(
            f"ttlSeconds of the function ({spec.ttl_seconds}) is not below the record retention, "
            f"which is {retention_seconds:g} s; change the function, or send a shorter ttlSeconds"
        )


def new_record(submission: Submission, now: int) -> InvocationRecord:
    """Return a new record with the request and the current limits of the function."""
    command, spec = submission.command, submission.function.spec
    request = InvocationRequest(
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
    return transition.new_record(request, submission.function.metadata.uid, hash_, now)


def invocation_hash(command: Invoke, payload: Payload) -> str:
    """Return the hash version and the digest of the request, without its wait time."""
    content = [
        command.content_type,
        command.headers,
        command.attributes,
        command.ttl_seconds,
        payload.body.size,
        payload.digest,
    ]
    text = msgspec.json.encode(content, order="sorted")
    return f"{HASH_VERSION}:{hashlib.sha256(text).hexdigest()}"


def replay_acceptance(
    submission: Submission, stored_record: StoredRecord, request_hash: str
) -> Acceptance:
    """Return the recorded invocation for a repeated request; ConflictError for another one."""
    if stored_record.record is None or stored_record.record.hash != request_hash:
        raise ConflictError(
            f"invocationID {submission.invocation_id!r} was used for a different request; "
            "use a new one, or send exactly the same request"
        )
    return Acceptance(invocation_of(submission, stored_record.record), is_new=False)


def invocation_of(submission: Submission, record: InvocationRecord) -> Invocation:
    return Invocation(submission.command.function_name, submission.invocation_id, record)


def is_record_of(stored_record: StoredRecord, function: Function) -> bool:
    """Return whether the record belongs to this function, not to an earlier one of its name."""
    return (
        stored_record.record is not None
        and stored_record.record.function_uid == function.metadata.uid
    )


def orphaned_record(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the final record for a function that was deleted."""
    result = InvocationResult(
        error="its function was deleted", failure_class=FailureClass.FUNCTION_DELETED.value
    )
    return transition.finished(record, InvocationState.CANCELLED, result, now)


def submission_error(submission: Submission, error: QueueError) -> Exception:
    """Return the error for the caller: no room, not reachable, or acceptance unknown."""
    if isinstance(error, QueueRejectedError) and not isinstance(error, StreamNotFoundError):
        return QueueFullError("the queue has no room for more invocations", retry_after=1)
    return acceptance_unknown_error(submission.invocation_id) if error.is_uncertain else error


def acceptance_unknown_error(invocation_id: str) -> AcceptanceUnknownError:
    return AcceptanceUnknownError(
        f"it is not known whether the invocation {invocation_id!r} was accepted; "
        "read it, or send exactly the same request with this invocationID again",
        details=(ErrorDetail("invocationID", invocation_id),),
        retry_after=1,
    )
