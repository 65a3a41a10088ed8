"""Decides what to do with a delivery, from its message, its record and the time."""

from dataclasses import dataclass
from typing import Final

from serverless.worker.deadlines import expiry_deadline
from serverless.worker.delivery import Delivery
from shared.invocation import transition
from shared.invocation.message import CallMessage
from shared.invocation.record import InvocationRecord
from shared.invocation.state import FailureClass, InvocationState

MAX_RECORD_WAIT_SECONDS: Final = 60
RECORD_RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """The function and the name of a worker; with an empty uid it accepts calls of any uid."""

    function_name: str
    worker: str
    function_uid: str = ""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Acknowledge: the message is obsolete."""


@dataclass(frozen=True, slots=True)
class Postpone:
    """Request redelivery after some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SendToDeadLetters:
    """Publish a dead letter and terminate the message: there is no record for the failure."""

    reason: str
    failure_class: FailureClass


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """The run is final: publish its outcome again, and acknowledge."""

    record: InvocationRecord


@dataclass(frozen=True, slots=True)
class Finish:
    """Make the run final with this record, without an attempt."""

    record: InvocationRecord


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Begin the attempt that the record describes."""

    record: InvocationRecord


Decision = Acknowledge | Postpone | SendToDeadLetters | PublishOutcome | Finish | StartAttempt


def decide(
    delivery: Delivery,
    call: CallMessage | None,
    record: InvocationRecord | None,
    identity: WorkerIdentity,
    now: int,
) -> Decision:
    """Return what a worker does with a delivery."""
    if call is None:
        return SendToDeadLetters("the message cannot be read", FailureClass.UNREADABLE)
    if identity.function_uid and call.function_uid != identity.function_uid:
        return _decide_other_function(delivery, call, record, now)
    if record is None or record.function_uid != call.function_uid or record.run < call.run:
        return _decide_without_record(delivery, now)
    if record.run > call.run:
        return Acknowledge()
    return (
        PublishOutcome(record)
        if record.is_final
        else _decide_with_record(delivery, record, identity, now)
    )


def _decide_other_function(
    delivery: Delivery, call: CallMessage, record: InvocationRecord | None, now: int
) -> Decision:
    """Decide about a message of another function of the same name.

    If its run has a record, that function is the newer one, and its own workers must get it.
    """
    if record is None:
        return _decide_without_record(delivery, now)
    is_of_newer_function = record.function_uid == call.function_uid
    return Postpone(RECORD_RETRY_SECONDS) if is_of_newer_function else Acknowledge()


def _decide_without_record(delivery: Delivery, now: int) -> Decision:
    if now - delivery.sent_at < MAX_RECORD_WAIT_SECONDS * 1000:
        return Postpone(RECORD_RETRY_SECONDS)
    return SendToDeadLetters("the record of this run is missing", FailureClass.RECORD_LOST)


def _decide_with_record(
    delivery: Delivery, record: InvocationRecord, identity: WorkerIdentity, now: int
) -> Decision:
    if record.state is InvocationState.RUNNING and record.sequence != delivery.sequence:
        return Acknowledge()
    if record.state is InvocationState.CANCELLING:
        return Finish(transition.cancelled(record, now))
    if now > expiry_deadline(record):
        return Finish(transition.expired(record, now))
    if record.attempts >= record.request.max_attempts:
        reason = f"all attempts failed ({record.attempts})"
        return Finish(
            transition.dead_lettered(record, reason, FailureClass.ATTEMPTS_EXHAUSTED, now)
        )
    return StartAttempt(transition.attempt_started(record, identity.worker, delivery.sequence, now))
