"""Decides what the sweep does with a record, from the record, its message and the time."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from shared.invocation import transition
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.message import CallMessage
from shared.invocation.record import InvocationRecord, InvocationResult
from shared.invocation.state import FailureClass, InvocationState

QUIET_MS: Final = 30_000
# A live worker finishes an overdue run itself; it gets this time to do so.
WORKER_GRACE_MS: Final = 2_000


class Existence(Enum):
    """Whether the function of a record exists."""

    PRESENT = auto()
    GONE = auto()
    PURGING = auto()  # being deleted, and queued invocations must not run


@dataclass(frozen=True, slots=True)
class QueuedCall:
    """The message of an invocation in the work queue; `call` is None if it is unreadable."""

    sequence: int
    call: CallMessage | None


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """A record, the time of its last change, and what a decision depends on."""

    record: InvocationRecord
    changed_at: int
    queued_call: QueuedCall | None
    is_worker_alive: bool
    existence: Existence
    now: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing to do, or another process will do it."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Write this final record, publish its outcome and delete the message."""

    record: InvocationRecord


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """The record is final, but its outcome was not published: publish it."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """Queue the call again; first write `record`, or delete the message of an older run."""

    record: InvocationRecord | None = None


SweepAction = Skip | Finish | PublishOutcome | Requeue


def decide(facts: RecordFacts) -> SweepAction:
    """Return the next step; all writes are a compare-and-set on the revision of the record."""
    record = facts.record
    if record.is_final:
        return Skip() if record.published or not is_quiet(facts) else PublishOutcome()
    if facts.existence is Existence.PURGING:
        return Finish(purged_outcome(record, facts.now))
    if is_overdue(facts):
        return Finish(overdue_outcome(record, facts.now))
    if not is_quiet(facts):
        return Skip()
    return (
        Finish(purged_outcome(record, facts.now))
        if facts.existence is Existence.GONE
        else decide_unattended(facts)
    )


def decide_unattended(facts: RecordFacts) -> SweepAction:
    """Decide about an open record that did not change for a while."""
    record = facts.record
    if record.state is InvocationState.QUEUED:
        return Skip() if has_current_call(facts) else Requeue()
    if facts.queued_call is not None or facts.is_worker_alive:
        return Skip()
    if record.state is InvocationState.CANCELLING:
        return Finish(transition.cancelled(record, facts.now))
    return Requeue(transition.requeued(record))


def has_current_call(facts: RecordFacts) -> bool:
    """Whether a message will bring the current run to a worker.

    So does an unreadable one: a worker moves it to the dead letters, and the next sweep notices.
    """
    message, record = facts.queued_call, facts.record
    if message is None or message.call is None:
        return message is not None
    return message.call.function_uid == record.function_uid and message.call.run >= record.run


def is_quiet(facts: RecordFacts) -> bool:
    """Whether no process can still be working on the record."""
    return facts.now - facts.changed_at >= QUIET_MS


def is_overdue(facts: RecordFacts) -> bool:
    """Whether the run is expired for every clock within the allowed skew."""
    late = facts.now - facts.record.expires_at - MAX_CLOCK_SKEW_SECONDS * 1000
    return late > (0 if facts.record.state is InvocationState.QUEUED else WORKER_GRACE_MS)


def overdue_outcome(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the final record of an overdue run: cancelled if that was requested, else expired."""
    if record.state is InvocationState.CANCELLING:
        return transition.cancelled(record, now)
    return transition.expired(record, now)


def purged_outcome(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the final record of a run whose function is deleted."""
    result = InvocationResult(
        error="the function was deleted", failure_class=FailureClass.FUNCTION_DELETED
    )
    return transition.finished(record, InvocationState.CANCELLED, result, now)
