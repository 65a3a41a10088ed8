"""What to do with a message: everything follows from it, its record and the time."""

from dataclasses import dataclass
from typing import Final

from serverless.worker.delivery import Delivery
from shared.invocation import transition
from shared.invocation.limits import CLOCK_SKEW_SECONDS
from shared.invocation.message import Call
from shared.invocation.record import Record
from shared.invocation.state import FailureClass, State

RECORD_PATIENCE_SECONDS: Final = 60
RECORD_RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who works here; without a `function_uid` calls of any function are ours."""

    request_id: str
    worker: str
    function_uid: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Acknowledge, and do nothing else: the message means nothing any more."""


@dataclass(frozen=True, slots=True)
class Postpone:
    """Ask for the message again later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Bury:
    """Tell the dead letters, and terminate: there is no record that could say it."""

    why: str
    failure_class: FailureClass


@dataclass(frozen=True, slots=True)
class Announce:
    """The run has its outcome: tell it again, and acknowledge."""

    record: Record


@dataclass(frozen=True, slots=True)
class Settle:
    """Give the run this outcome without running it."""

    record: Record


@dataclass(frozen=True, slots=True)
class Begin:
    """Run it; the record says which attempt."""

    record: Record


Decision = Drop | Postpone | Bury | Announce | Settle | Begin


def decide(
    given: Delivery, call: Call | None, record: Record | None, me: Identity, now: int
) -> Decision:
    """What a worker does with a message that it was handed."""
    if call is None:
        return Bury("the message cannot be read", FailureClass.UNREADABLE)
    if me.function_uid and call.function_uid != me.function_uid:
        return _of_a_namesake(given, call, record, now)
    if record is None or record.function_uid != call.function_uid or record.run < call.run:
        return _without_record(given, now)
    if record.run > call.run:
        return Drop()
    return Announce(record) if record.is_final else _with_record(given, record, me, now)


def last_moment(record: Record) -> int:
    """When a run is overdue also for those whose clock is a little late."""
    return record.overdue_at + CLOCK_SKEW_SECONDS * 1000


def deadline(record: Record) -> int:
    """When the attempt that has begun must have ended, in milliseconds since 1970."""
    return min(record.started_at + record.request.timeout_seconds * 1000, last_moment(record))


def _of_a_namesake(given: Delivery, call: Call, record: Record | None, now: int) -> Decision:
    """A message of another function that has, or had, the name of ours.

    If its run is on record, that function is the newer one, and its own workers must have it.
    """
    if record is None:
        return _without_record(given, now)
    is_theirs = record.function_uid == call.function_uid
    return Postpone(RECORD_RETRY_SECONDS) if is_theirs else Drop()


def _without_record(given: Delivery, now: int) -> Decision:
    if now - given.sent_at < RECORD_PATIENCE_SECONDS * 1000:
        return Postpone(RECORD_RETRY_SECONDS)
    return Bury("there is no record of this run", FailureClass.RECORD_LOST)


def _with_record(given: Delivery, record: Record, me: Identity, now: int) -> Decision:
    if record.state is State.RUNNING and record.sequence != given.sequence:
        return Drop()
    if record.state is State.CANCELLING:
        return Settle(transition.cancelled(record, now))
    if now > last_moment(record):
        return Settle(transition.expired(record, now))
    if record.attempts >= record.request.max_attempts:
        why = f"{record.attempts} attempts have come to nothing"
        return Settle(transition.dead_lettered(record, why, FailureClass.ATTEMPTS_EXHAUSTED, now))
    return Begin(transition.begun(record, me.worker, given.sequence, now))
