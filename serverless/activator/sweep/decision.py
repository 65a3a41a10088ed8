"""What the sweep does with one record: everything follows from it, its message and the time."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from shared.invocation import transition
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.message import CallMessage
from shared.invocation.record import InvocationRecord, InvocationResult
from shared.invocation.state import FailureClass, InvocationState

QUIET_MS: Final = 30_000
# A live worker ends an overdue run by itself; it gets the first word.
WORKER_GRACE_MS: Final = 2_000


class Existence(Enum):
    """What has become of the function that a record is of."""

    PRESENT = auto()
    GONE = auto()
    PURGING = auto()  # on its way out, and what is queued shall not be run


@dataclass(frozen=True, slots=True)
class QueuedCall:
    """What the work queue holds for an invocation; unreadable without a call."""

    sequence: int
    call: CallMessage | None


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """A record as it is now, since when it is so, and what there is around it."""

    record: InvocationRecord
    changed_at: int
    queued_call: QueuedCall | None
    is_worker_alive: bool
    existence: Existence
    now: int


@dataclass(frozen=True, slots=True)
class Skip:
    """All is well, or somebody else's to do."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Write this final record, tell its outcome and take the message away."""

    record: InvocationRecord


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """The record is final and nobody has said so: tell its outcome."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """Put it in line; first take the message of an older run away, and write `record` if given."""

    record: InvocationRecord | None = None


SweepAction = Skip | Finish | PublishOutcome | Requeue


def decide(facts: RecordFacts) -> SweepAction:
    """The next step; whatever it writes is compared and set on the record's revision."""
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
    """What to do with an open record that has been quiet for a while."""
    record = facts.record
    if record.state is InvocationState.QUEUED:
        return Skip() if has_current_call(facts) else Requeue()
    if facts.queued_call is not None or facts.is_worker_alive:
        return Skip()
    if record.state is InvocationState.CANCELLING:
        return Finish(transition.cancelled(record, facts.now))
    return Requeue(transition.requeued(record))


def has_current_call(facts: RecordFacts) -> bool:
    """Whether a message will bring the present run to a worker.

    One that cannot be read also does: a worker buries it, and the next sweep sees it gone.
    """
    message, record = facts.queued_call, facts.record
    if message is None or message.call is None:
        return message is not None
    return message.call.function_uid == record.function_uid and message.call.run >= record.run


def is_quiet(facts: RecordFacts) -> bool:
    """Whether nobody can be busy with the record any more."""
    return facts.now - facts.changed_at >= QUIET_MS


def is_overdue(facts: RecordFacts) -> bool:
    """Whether its time is over, also for those whose clock is a little late."""
    late = facts.now - facts.record.expires_at - MAX_CLOCK_SKEW_SECONDS * 1000
    return late > (0 if facts.record.state is InvocationState.QUEUED else WORKER_GRACE_MS)


def overdue_outcome(record: InvocationRecord, now: int) -> InvocationRecord:
    """The outcome of a run whose time is over; one that was to be cancelled is cancelled."""
    if record.state is InvocationState.CANCELLING:
        return transition.cancelled(record, now)
    return transition.expired(record, now)


def purged_outcome(record: InvocationRecord, now: int) -> InvocationRecord:
    """The outcome of a run whose function is deleted."""
    why = InvocationResult(
        error="the function was deleted", failure_class=FailureClass.FUNCTION_DELETED
    )
    return transition.finished(record, InvocationState.CANCELLED, why, now)
