"""The rules of an election as pure functions: who may acquire a lease, and the new record."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final

from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.microtime import format_micro_time

JITTER_FACTOR: Final = 1.2
# The fraction of the time between renew deadline and lease end in which the work may stop; in the
# rest the watchdog's thread wakes up and ends the process.
STOP_FRACTION: Final = 0.8
RELEASED_LEASE_SECONDS: Final = 1


class ElectionSettingsError(ValueError):
    """Settings with which two processes could lead at once, or no process for a long time."""


class LeadershipLostError(Exception):
    """This process does not certainly lead."""


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """The duration of a lease, the deadline of its renewal, and the period of the attempts.

    A Lease has whole seconds, so `lease_duration_seconds` has no fraction.
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
        """Time limit of one request, so that time is left for another one."""
        return max(1.0, self.renew_deadline_seconds / 2)

    @property
    def stop_deadline_seconds(self) -> float:
        """Seconds after the last renewal until the work must have stopped."""
        return self.renew_deadline_seconds + STOP_FRACTION * (
            self.lease_duration_seconds - self.renew_deadline_seconds
        )

    @property
    def margin_seconds(self) -> float:
        """Seconds between the stop deadline and the end of the lease."""
        return self.lease_duration_seconds - self.stop_deadline_seconds

    def jittered_wait_seconds(self, fraction: float) -> float:
        """Return the pause of a candidate; a random `fraction` of 0 to 1 spreads candidates."""
        return self.retry_period_seconds * (1 + JITTER_FACTOR * fraction)


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and the local time of its first observation (for our own: of its sending)."""

    record: LeaseRecord
    observed_at: float

    def is_valid(self, now: float) -> bool:
        """Whether the lease duration of the record has not passed since."""
        return self.observed_at + self.record.duration_seconds > now


NO_OBSERVATION: Final = Observation(LeaseRecord(), -inf)


@dataclass(frozen=True, slots=True)
class Term:
    """An uninterrupted leadership: one acquisition, and the time of its last renewal."""

    acquire_time: str
    transitions: int
    renewed_at: float

    def is_continued_by(self, record: LeaseRecord) -> bool:
        """Whether `record` renews this term, without another holder in between."""
        return (record.acquire_time, record.transitions) == (self.acquire_time, self.transitions)


def term_of(observation: Observation) -> Term:
    """Return the term that a successful write began or renewed."""
    return Term(
        observation.record.acquire_time, observation.record.transitions, observation.observed_at
    )


def new_lease_record(identity: str, duration_seconds: int, now: datetime) -> LeaseRecord:
    """Return the record with which `identity` acquires a lease that did not exist."""
    timestamp = format_micro_time(now)
    return LeaseRecord(identity, duration_seconds, acquire_time=timestamp, renew_time=timestamp)


def observe(previous: Observation, record: LeaseRecord, now: float) -> Observation:
    """Return the observation after a read; only a changed record restarts its time."""
    return previous if previous.record == record else Observation(record, now)


def is_acquirable(observed: Observation, identity: str, now: float) -> bool:
    """Whether the lease is free, ours, or expired."""
    return observed.record.holder in ("", identity) or not observed.is_valid(now)


def renewed_record(new_record: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """Return `new_record` as a renewal of `current`."""
    return replace(new_record, acquire_time=current.acquire_time, transitions=current.transitions)


def successor_record(new_record: LeaseRecord, current: LeaseRecord) -> LeaseRecord:
    """Return `new_record` as the successor of `current`: a renewal, or one more transition."""
    if current.holder == new_record.holder:
        return renewed_record(new_record, current)
    return replace(new_record, transitions=current.transitions + 1)


def released_record(current: LeaseRecord, now: datetime) -> LeaseRecord:
    """Return the record that releases `current`, so that any candidate can acquire it at once."""
    return replace(
        new_lease_record("", RELEASED_LEASE_SECONDS, now), transitions=current.transitions
    )
