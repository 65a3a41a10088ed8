"""Tests of one attempt to acquire a lease, as client-go does it."""

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


def candidate(lease: FakeLease, clock: VirtualClock, told: list[str]) -> Candidate:
    metrics = LeaderMetrics(CollectorRegistry())
    return Candidate(
        FakeLeaseLock(lease, "a", clock), ElectionSettings("test"), clock, metrics, told.append
    )


@pytest.mark.parametrize(
    ("found", "transitions", "calls"),
    [
        (None, 0, ["get", "create"]),
        (LeaseRecord(), 1, ["get", "update"]),
        (replace(THEIRS, holder=""), 2, ["get", "update"]),
        (replace(THEIRS, duration_seconds=0), 2, ["get", "update"]),
        (OURS, 1, ["get", "update"]),
    ],
    ids=["no lease", "empty lease", "released", "held for no time", "already ours"],
)
async def test_a_lease_that_nobody_holds_is_taken_at_once(
    clock: VirtualClock, found: LeaseRecord | None, transitions: int, calls: list[str]
) -> None:
    lease, told = FakeLease(found), list[str]()
    assert await candidate(lease, clock, told).try_acquire_or_renew()
    assert lease.record is not None
    assert (lease.holder, lease.record.transitions) == ("a", transitions)
    assert lease.calls == calls
    assert told[-1] == "a"


async def test_a_lease_that_another_holds_is_left_alone(clock: VirtualClock) -> None:
    lease, told = FakeLease(THEIRS), list[str]()
    assert not await candidate(lease, clock, told).try_acquire_or_renew()
    assert (lease.record, lease.calls, told) == (THEIRS, ["get"], ["b"])


async def test_a_silent_holder_loses_the_lease_after_its_own_duration(clock: VirtualClock) -> None:
    lease = FakeLease(replace(THEIRS, duration_seconds=60))
    ours = candidate(lease, clock, [])
    assert not await ours.try_acquire_or_renew()
    clock.advance_timers(59)
    assert not await ours.try_acquire_or_renew()
    clock.advance_timers(1)
    assert await ours.try_acquire_or_renew()


@pytest.mark.parametrize("year", ["1999", "2099"])
async def test_the_clock_of_the_holder_means_nothing(clock: VirtualClock, year: str) -> None:
    moment = f"{year}-01-01T00:00:00.000000Z"
    lease = FakeLease(replace(THEIRS, acquire_time=moment, renew_time=moment))
    ours = candidate(lease, clock, [])
    assert not await ours.try_acquire_or_renew()
    clock.advance_timers(14)
    assert not await ours.try_acquire_or_renew()
    clock.advance_timers(1)
    assert await ours.try_acquire_or_renew()


async def test_a_holder_that_renews_keeps_the_lease(clock: VirtualClock) -> None:
    lease = FakeLease(THEIRS)
    ours = candidate(lease, clock, [])
    for second in range(10):
        lease.write(replace(THEIRS, renew_time=f"1999-01-01T00:00:0{second}.000000Z"))
        assert not await ours.try_acquire_or_renew()
        clock.advance_timers(14)
