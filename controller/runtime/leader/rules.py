"""The rules of an election as pure functions: who may take a lease, and what is written then."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final

from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.microtime import micro_time

JITTER: Final = 1.2
# The part of the time between giving up and the lease's end in which the work may stop; what is
# left is for the watchdog's thread to wake up and to end the process.
STOPPING: Final = 0.8
RELEASED_SECONDS: Final = 1


class ElectionSettingsError(ValueError):
    """Settings with which two processes could lead at once, or nobody for long."""


class LeadershipLostError(Exception):
    """This process does not lead, or cannot be sure that it does."""


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """How long a lease holds, until when a leader tries to renew it, and how often it tries.

    Leases are written in whole seconds, so `lease_seconds` has no fraction that would get lost.
    """

    name: str
    lease_seconds: int = 15
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_seconds <= 0:
            raise ElectionSettingsError("the retry period must be above zero")
        if self.renew_seconds <= self.retry_seconds * JITTER:
            raise ElectionSettingsError(
                f"the renew deadline must be above {JITTER:g} times the retry period"
            )
        if self.lease_seconds <= self.renew_seconds:
            raise ElectionSettingsError("the lease must be longer than the renew deadline")

    @property
    def request_seconds(self) -> float:
        """The limit of one call, so that one that hangs leaves time for another."""
        return max(1.0, self.renew_seconds / 2)

    @property
    def stopped_seconds(self) -> float:
        """How long after the last renewal the work must have stopped."""
        return self.renew_seconds + STOPPING * (self.lease_seconds - self.renew_seconds)

    @property
    def spare_seconds(self) -> float:
        """What is left of the lease then."""
        return self.lease_seconds - self.stopped_seconds

    def wait_seconds(self, chance: float) -> float:
        """The pause of a candidate; `chance` of 0 to 1 spreads candidates apart."""
        return self.retry_seconds * (1 + JITTER * chance)


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when on the own clock it was first seen (or sent, where it is our own)."""

    record: LeaseRecord
    at: float

    def is_valid(self, now: float) -> bool:
        """Whether the holder's own duration has not passed since."""
        return self.at + self.record.duration_seconds > now


UNSEEN: Final = Observation(LeaseRecord(), -inf)


@dataclass(frozen=True, slots=True)
class Term:
    """A leadership without a gap: a lease taken once, and when its last renewal was sent."""

    acquire_time: str
    transitions: int
    renewed: float

    def goes_on_in(self, record: LeaseRecord) -> bool:
        """Whether `record` renews this term, and does not begin another after somebody else's."""
        return (record.acquire_time, record.transitions) == (self.acquire_time, self.transitions)


def term_of(held: Observation) -> Term:
    """The term that a successful write began or renewed."""
    return Term(held.record.acquire_time, held.record.transitions, held.at)


def claim(identity: str, seconds: int, now: datetime) -> LeaseRecord:
    """A new hold of `identity` on a lease that nobody had."""
    moment = micro_time(now)
    return LeaseRecord(identity, seconds, acquire_time=moment, renew_time=moment)


def seen(before: Observation, record: LeaseRecord, now: float) -> Observation:
    """What is known after a read: only a change restarts the time that the holder has."""
    return before if before.record == record else Observation(record, now)


def may_take(observed: Observation, identity: str, now: float) -> bool:
    """Whether the lease is free, ours, or not renewed by its holder for as long as it holds."""
    return observed.record.holder in ("", identity) or not observed.is_valid(now)


def renewal(wanted: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """`wanted` as one more renewal of `current`."""
    return replace(wanted, acquire_time=current.acquire_time, transitions=current.transitions)


def succession(wanted: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """`wanted` as what follows `current`: a renewal of the own lease, or one more transition."""
    if current.holder == wanted.holder:
        return renewal(wanted, current)
    return replace(wanted, transitions=current.transitions + 1)


def released(current: LeaseRecord, now: datetime) -> LeaseRecord:
    """`current` given up, to be taken by anybody at once."""
    return replace(claim("", RELEASED_SECONDS, now), transitions=current.transitions)
