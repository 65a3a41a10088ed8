"""The messages of the streams: the call, the outcome and the dead letter."""

import msgspec
from msgspec import field

from shared.invocation.record import InvocationRecord, InvocationResult
from shared.invocation.state import InvocationState
from shared.time import UnixMilliseconds


class CallMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The message of the work queue: the invocation's record and the number of the run."""

    function_uid: str
    function_name: str = field(name="requestID")
    invocation_id: str = field(name="invocationID")
    run: int


class OutcomeMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The end of one run; the same record always gives the same bytes."""

    function_uid: str
    function_name: str = field(name="requestID")
    invocation_id: str = field(name="invocationID")
    run: int
    state: InvocationState
    attempts: int
    worker: str
    accepted_at: UnixMilliseconds
    started_at: UnixMilliseconds
    finished_at: UnixMilliseconds
    result: InvocationResult


class DeadLetterMessage(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The unchanged message of a run that was given up, and the reason.

    `call` is None if the message is unreadable.
    """

    reason: str
    failure_class: str
    attempts: int = 0
    call: CallMessage | None = None
    original: bytes = b""
    headers: dict[str, str] = {}
    at: UnixMilliseconds = 0


def call_message(function_name: str, invocation_id: str, record: InvocationRecord) -> CallMessage:
    """Return the message that queues the current run of a record."""
    return CallMessage(
        function_uid=record.function_uid,
        function_name=function_name,
        invocation_id=invocation_id,
        run=record.run,
    )


def outcome_message(
    function_name: str, invocation_id: str, record: InvocationRecord
) -> OutcomeMessage:
    """Return the message that reports a final record in the stream of results."""
    return OutcomeMessage(
        function_uid=record.function_uid,
        function_name=function_name,
        invocation_id=invocation_id,
        run=record.run,
        state=record.state,
        attempts=record.attempts,
        worker=record.worker,
        accepted_at=record.accepted_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        result=record.result or InvocationResult(),
    )


def outcome_message_id(outcome: OutcomeMessage) -> str:
    """Return the message id by which the stream drops a second copy."""
    return f"{outcome.function_uid}.{outcome.invocation_id}.{outcome.run}"


def encode_message(message: CallMessage | OutcomeMessage | DeadLetterMessage) -> bytes:
    """Encode a message as the stream holds it."""
    return msgspec.json.encode(message)


def decode_call(data: bytes) -> CallMessage:
    """Decode a call; raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=CallMessage)


def decode_outcome(data: bytes) -> OutcomeMessage:
    """Decode an outcome; raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=OutcomeMessage)


def decode_dead_letter(data: bytes) -> DeadLetterMessage:
    """Decode a dead letter; raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=DeadLetterMessage)
