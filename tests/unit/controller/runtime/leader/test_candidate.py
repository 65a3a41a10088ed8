"""Tests of the candidate: one attempt to acquire or renew a lease, as in client-go."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.leader.candidate import Candidate
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.runtime.leader.fake_lease import FakeLease, FakeLeaseLock

THEIRS = LeaseRecord("b", 15, "1999-01-01T00:00:00.000000Z", "1999-01-01T00:00:00.000000Z", 1)
OURS = replace(THEIRS, holder="a")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def new_candidate(lease: FakeLease, clock: VirtualClock, leaders: list[str]) -> Candidate:
    metrics = LeaderMetrics(CollectorRegistry())
    return Candidate(
        FakeLeaseLock(lease, "a", clock), ElectionSettings("test"), clock, metrics, leaders.append
    )


@pytest.mark.parametrize(
    ("record", "transitions", "calls"),
    [
        (None, 0, ["get", "create"]),
        (LeaseRecord(), 1, ["get", "update"]),
        (replace(THEIRS, holder=""), 2, ["get", "update"]),
        (replace(THEIRS, duration_seconds=0), 2, ["get", "update"]),
        (OURS, 1, ["get", "update"]),
    ],
    ids=["no lease", "empty lease", "released", "duration 0", "already ours"],
)
async def test_a_free_lease_is_acquired_at_once(
    clock: VirtualClock, record: LeaseRecord | None, transitions: int, calls: list[str]
) -> None:
    lease, leaders = FakeLease(record), list[str]()
    assert await new_candidate(lease, clock, leaders).try_acquire_or_renew()
    assert lease.record is not None
    assert (lease.holder, lease.record.transitions) == ("a", transitions)
    assert lease.calls == calls
    assert leaders[-1] == "a"


async def test_a_lease_of_another_holder_is_not_changed(clock: VirtualClock) -> None:
    lease, leaders = FakeLease(THEIRS), list[str]()
    assert not await new_candidate(lease, clock, leaders).try_acquire_or_renew()
    assert (lease.record, lease.calls, leaders) == (THEIRS, ["get"], ["b"])


async def test_a_lease_that_is_not_renewed_is_acquired_after_its_duration(
    clock: VirtualClock,
) -> None:
    lease = FakeLease(replace(THEIRS, duration_seconds=60))
    candidate = new_candidate(lease, clock, [])
    assert not await candidate.try_acquire_or_renew()
    clock.advance_timers(59)
    assert not await candidate.try_acquire_or_renew()
    clock.advance_timers(1)
    assert await candidate.try_acquire_or_renew()


@pytest.mark.parametrize("year", ["1999", "2099"])
async def test_the_times_in_a_lease_of_another_holder_are_ignored(
    clock: VirtualClock, year: str
) -> None:
    timestamp = f"{year}-01-01T00:00:00.000000Z"
    lease = FakeLease(replace(THEIRS, acquire_time=timestamp, renew_time=timestamp))
    candidate = new_candidate(lease, clock, [])
    assert not await candidate.try_acquire_or_renew()
    clock.advance_timers(14)
    assert not await candidate.try_acquire_or_renew()
    clock.advance_timers(1)
    assert await candidate.try_acquire_or_renew()


async def test_a_holder_that_renews_keeps_the_lease(clock: VirtualClock) -> None:
    lease = FakeLease(THEIRS)
    candidate = new_candidate(lease, clock, [])
    for second in range(10):
        lease.write(replace(THEIRS, renew_time=f"1999-01-01T00:00:0{second}.000000Z"))
        assert not await candidate.try_acquire_or_renew()
        clock.advance_timers(14)
