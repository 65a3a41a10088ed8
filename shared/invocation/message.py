"""What the streams carry: the call to run an invocation, its outcome, and its dead letter."""

import msgspec
from msgspec import field

from shared.invocation.record import Record, Result
from shared.invocation.state import State
from shared.time import Milliseconds


class Call(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The message of the work queue: which record to run, and which run of it."""

    function_uid: str
    request_id: str = field(name="requestID")
    invocation_id: str = field(name="invocationID")
    run: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How one run has ended; the same record always gives the same bytes."""

    function_uid: str
    request_id: str = field(name="requestID")
    invocation_id: str = field(name="invocationID")
    run: int
    state: State
    attempts: int
    worker: str
    accepted_at: Milliseconds
    started_at: Milliseconds
    finished_at: Milliseconds
    result: Result


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message that nobody will run again, as it was, and why; `call` is absent if unreadable."""

    reason: str
    failure_class: str
    attempts: int = 0
    call: Call | None = None
    original: bytes = b""
    headers: dict[str, str] = {}
    at: Milliseconds = 0


def call_of(request_id: str, invocation_id: str, record: Record) -> Call:
    """The message with which the present run of a record is queued."""
    return Call(
        function_uid=record.function_uid,
        request_id=request_id,
        invocation_id=invocation_id,
        run=record.run,
    )


def outcome_of(request_id: str, invocation_id: str, record: Record) -> Outcome:
    """What the stream of results tells of a final record."""
    return Outcome(
        function_uid=record.function_uid,
        request_id=request_id,
        invocation_id=invocation_id,
        run=record.run,
        state=record.state,
        attempts=record.attempts,
        worker=record.worker,
        accepted_at=record.accepted_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        result=record.result or Result(),
    )


def outcome_id(outcome: Outcome) -> str:
    """The message id by which the stream drops a second copy."""
    return f"{outcome.function_uid}.{outcome.invocation_id}.{outcome.run}"


def encode(message: Call | Outcome | DeadLetter) -> bytes:
    """The message as the stream holds it."""
    return msgspec.json.encode(message)


def decode_call(data: bytes) -> Call:
    """Read a call, or raise msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Call)


def decode_outcome(data: bytes) -> Outcome:
    """Read an outcome, or raise msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Outcome)


def decode_dead_letter(data: bytes) -> DeadLetter:
    """Read a dead letter, or raise msgspec.DecodeError."""
    return msgspec.json.decode(data, type=DeadLetter)
