"""The rules of an election as pure functions: who may take a lease, and what is written then."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final

from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.microtime import format_micro_time

JITTER_FACTOR: Final = 1.2
# The part of the time between giving up and the lease's end in which the work may stop; what is
# left is for the watchdog's thread to wake up and to end the process.
STOP_FRACTION: Final = 0.8
RELEASED_LEASE_SECONDS: Final = 1


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
    lease_duration_seconds: int = 15
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_period_seconds <= 0:
            raise ElectionSettingsError("the retry period must be above zero")
        if self.renew_deadline_seconds <= self.retry_period_seconds * JITTER_FACTOR:
            raise ElectionSettingsError(
                f"the renew deadline must be above {JITTER_FACTOR:g} times the retry period"
            )
        if self.lease_duration_seconds <= self.renew_deadline_seconds:
            raise ElectionSettingsError("the lease must be longer than the renew deadline")

    @property
    def request_timeout_seconds(self) -> float:
        """The limit of one call, so that one that hangs leaves time for another."""
        return max(1.0, self.renew_deadline_seconds / 2)

    @property
    def stop_deadline_seconds(self) -> float:
        """How long after the last renewal the work must have stopped."""
        return self.renew_deadline_seconds + STOP_FRACTION * (
            self.lease_duration_seconds - self.renew_deadline_seconds
        )

    @property
    def margin_seconds(self) -> float:
        """What is left of the lease then."""
        return self.lease_duration_seconds - self.stop_deadline_seconds

    def jittered_wait_seconds(self, fraction: float) -> float:
        """The pause of a candidate; `chance` of 0 to 1 spreads candidates apart."""
        return self.retry_period_seconds * (1 + JITTER_FACTOR * fraction)


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when on the own clock it was first seen (or sent, where it is our own)."""

    record: LeaseRecord
    observed_at: float

    def is_valid(self, now: float) -> bool:
        """Whether the holder's own duration has not passed since."""
        return self.observed_at + self.record.duration_seconds > now


NO_OBSERVATION: Final = Observation(LeaseRecord(), -inf)


@dataclass(frozen=True, slots=True)
class Term:
    """A leadership without a gap: a lease taken once, and when its last renewal was sent."""

    acquire_time: str
    transitions: int
    renewed_at: float

    def is_continued_by(self, record: LeaseRecord) -> bool:
        """Whether `record` renews this term, and does not begin another after somebody else's."""
        return (record.acquire_time, record.transitions) == (self.acquire_time, self.transitions)


def term_of(observation: Observation) -> Term:
    """The term that a successful write began or renewed."""
    return Term(
        observation.record.acquire_time, observation.record.transitions, observation.observed_at
    )


def new_lease_record(identity: str, duration_seconds: int, now: datetime) -> LeaseRecord:
    """A new hold of `identity` on a lease that nobody had."""
    moment = format_micro_time(now)
    return LeaseRecord(identity, duration_seconds, acquire_time=moment, renew_time=moment)


def observe(previous: Observation, record: LeaseRecord, now: float) -> Observation:
    """What is known after a read: only a change restarts the time that the holder has."""
    return previous if previous.record == record else Observation(record, now)


def is_acquirable(observed: Observation, identity: str, now: float) -> bool:
    """Whether the lease is free, ours, or not renewed by its holder for as long as it holds."""
    return observed.record.holder in ("", identity) or not observed.is_valid(now)


def renewed_record(new_record: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """`wanted` as one more renewal of `current`."""
    return replace(new_record, acquire_time=current.acquire_time, transitions=current.transitions)


def successor_record(new_record: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """`wanted` as what follows `current`: a renewal of the own lease, or one more transition."""
    if current.holder == new_record.holder:
        return renewed_record(new_record, current)
    return replace(new_record, transitions=current.transitions + 1)


def released_record(current: LeaseRecord, now: datetime) -> LeaseRecord:
    """`current` given up, to be taken by anybody at once."""
    return replace(
        new_lease_record("", RELEASED_LEASE_SECONDS, now), transitions=current.transitions
    )
