"""What the sweep does with one record: everything follows from it, its message and the time."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from shared.invocation import transition
from shared.invocation.limits import CLOCK_SKEW_SECONDS
from shared.invocation.message import Call
from shared.invocation.record import Record, Result
from shared.invocation.state import FailureClass, State

QUIET_MS: Final = 30_000
# A live worker ends an overdue run by itself; it gets the first word.
WORKER_MS: Final = 2_000


class Home(Enum):
    """What has become of the function that a record is of."""

    STANDS = auto()
    GONE = auto()
    PURGED = auto()  # on its way out, and what is queued shall not be run


@dataclass(frozen=True, slots=True)
class Message:
    """What the work queue holds for an invocation; unreadable without a call."""

    sequence: int
    call: Call | None


@dataclass(frozen=True, slots=True)
class Facts:
    """A record as it is now, since when it is so, and what there is around it."""

    record: Record
    changed_at: int
    message: Message | None
    is_worker_alive: bool
    home: Home
    now: int


@dataclass(frozen=True, slots=True)
class Leave:
    """All is well, or somebody else's to do."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Write this final record, tell its outcome and take the message away."""

    record: Record


@dataclass(frozen=True, slots=True)
class Tell:
    """The record is final and nobody has said so: tell its outcome."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Put it in line; first take the message of an older run away, and write `record` if given."""

    record: Record | None = None


Step = Leave | Settle | Tell | Queue


def decide(facts: Facts) -> Step:
    """The next step; whatever it writes is compared and set on the record's revision."""
    record = facts.record
    if record.is_final:
        return Leave() if record.published or not is_quiet(facts) else Tell()
    if facts.home is Home.PURGED:
        return Settle(purged(record, facts.now))
    if is_overdue(facts):
        return Settle(overdue(record, facts.now))
    if not is_quiet(facts):
        return Leave()
    return Settle(purged(record, facts.now)) if facts.home is Home.GONE else unattended(facts)


def unattended(facts: Facts) -> Step:
    """What to do with an open record that has been quiet for a while."""
    record = facts.record
    if record.state is State.QUEUED:
        return Leave() if has_its_message(facts) else Queue()
    if facts.message is not None or facts.is_worker_alive:
        return Leave()
    if record.state is State.CANCELLING:
        return Settle(transition.cancelled(record, facts.now))
    return Queue(transition.released(record))


def has_its_message(facts: Facts) -> bool:
    """Whether a message will bring the present run to a worker.

    One that cannot be read also does: a worker buries it, and the next sweep sees it gone.
    """
    message, record = facts.message, facts.record
    if message is None or message.call is None:
        return message is not None
    return message.call.function_uid == record.function_uid and message.call.run >= record.run


def is_quiet(facts: Facts) -> bool:
    """Whether nobody can be busy with the record any more."""
    return facts.now - facts.changed_at >= QUIET_MS


def is_overdue(facts: Facts) -> bool:
    """Whether its time is over, also for those whose clock is a little late."""
    late = facts.now - facts.record.overdue_at - CLOCK_SKEW_SECONDS * 1000
    return late > (0 if facts.record.state is State.QUEUED else WORKER_MS)


def overdue(record: Record, now: int) -> Record:
    """The outcome of a run whose time is over; one that was to be cancelled is cancelled."""
    if record.state is State.CANCELLING:
        return transition.cancelled(record, now)
    return transition.expired(record, now)


def purged(record: Record, now: int) -> Record:
    """The outcome of a run whose function is deleted."""
    why = Result(error="the function was deleted", failure_class=FailureClass.FUNCTION_DELETED)
    return transition.finished(record, State.CANCELLED, why, now)
