"""Tests of the elector: it elects, renews, stops in time, and never overlaps with a successor."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.leader.elector import ElectorCallbacks, LeaderElector, LeadershipEnd
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import (
    ElectionSettings,
    ElectionSettingsError,
    LeadershipLostError,
)
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks
from tests.unit.controller.runtime.leader.fake_lease import FakeLease, FakeLeaseLock, LockFault

SETTINGS = ElectionSettings("test")
THEIRS = LeaseRecord("b", 15, "1999-01-01T00:00:00.000000Z", "1999-01-01T00:00:00.000000Z", 1)
# The watchdog is a real thread: it checks four times per real second, at any virtual time.
THREAD_SECONDS = 10.0


class Process:
    """One process of an election, with its recorded callbacks."""

    def __init__(self, lease: FakeLease, clock: VirtualClock, identity: str = "a") -> None:
        self.lock = FakeLeaseLock(lease, identity, clock)
        self.registry = CollectorRegistry()
        self.events: list[str] = []
        self.leaders: list[str] = []
        self.terminated = threading.Event()
        self.elector = LeaderElector(
            self.lock,
            SETTINGS,
            clock,
            random.Random(1),
            LeaderMetrics(self.registry),
            ElectorCallbacks(self.events.append, self.leaders.append, self.terminated.set),
        )

    def metric(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"leader_election_{name}", {"name": "test"})


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def lease() -> FakeLease:
    return FakeLease()


@pytest.fixture
def ours(lease: FakeLease, clock: VirtualClock) -> Process:
    return Process(lease, clock)


async def until_cancelled() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def running(
    process: Process, work: Callable[[], Awaitable[None]] = until_cancelled
) -> AsyncIterator[asyncio.Task[LeadershipEnd]]:
    """Run the elector with `work` during the block, and stop it cleanly at the end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(process.elector.run(work))
        await run_ready_tasks()
        yield task
        task.cancel()


def acquisition(record: LeaseRecord | None) -> tuple[str, int] | None:
    """Return the fields that a renewal keeps."""
    return (record.acquire_time, record.transitions) if record else None


def test_a_candidate_without_an_identity_is_refused(lease: FakeLease, clock: VirtualClock) -> None:
    with pytest.raises(ElectionSettingsError, match="identity"):
        Process(lease, clock, identity="")


# Leading -----------------------------------------------------------------------------------------


async def test_a_leader_renews_without_reading(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        await clock.advance(3)
        assert lease.calls == ["get", "create", "update", "update"]
        assert ours.elector.is_leader()
    assert lease.record is not None
    assert lease.record.transitions == 0


async def test_a_leader_whose_lease_was_edited_reads_it_once_and_renews_it(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        lease.calls.clear()
        lease.write(lease.record)
        await clock.advance(5)
        assert lease.calls == ["update", "get", "update", "update"]
        assert ours.elector.is_leader()
        assert ours.metric("slowpath_total") == 1


async def test_leadership_changes_are_reported_in_events_and_metrics(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    assert ours.metric("master_status") == 0
    async with running(ours):
        await clock.advance(3)
        assert ours.metric("master_status") == 1
        assert ours.events == ["a became leader"]
    assert ours.events == ["a became leader", "a stopped leading"]
    assert ours.metric("master_status") == 0
    assert ours.leaders == ["a"]


async def test_a_follower_reports_each_leader_once(clock: VirtualClock) -> None:
    lease = FakeLease(THEIRS)
    ours = Process(lease, clock)
    async with running(ours):
        await clock.advance(10)
        lease.write(replace(THEIRS, holder="c"))
        await clock.advance(10)
        assert ours.leaders == ["b", "c"]
        assert ours.events == []


async def test_a_candidate_retries_while_the_server_is_unreachable(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    ours.lock.permanent_fault = LockFault.FAILS
    async with running(ours):
        await clock.advance(60)
        assert (ours.leaders, ours.events) == ([], [])
        ours.lock.permanent_fault = None
        await clock.advance(5)
        assert ours.elector.is_leader()


@pytest.mark.parametrize("call", ["create", "update"])
async def test_a_candidate_leads_after_a_lost_response_to_its_acquisition(
    clock: VirtualClock, call: str
) -> None:
    lease = FakeLease(None if call == "create" else replace(THEIRS, holder=""))
    ours = Process(lease, clock)
    ours.lock.faults[call].append(LockFault.RESPONSE_LOST)
    async with running(ours):
        acquired = lease.record
        assert (lease.holder, ours.elector.is_leader()) == ("a", False)
        await clock.advance(5)
        assert ours.elector.is_leader()
        assert acquisition(lease.record) == acquisition(acquired)


async def test_a_leader_continues_after_a_lost_response_to_its_renewal(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours) as task:
        ours.lock.faults["update"].append(LockFault.RESPONSE_LOST)
        await clock.advance(30)
        assert ours.elector.is_leader()
        assert not task.done()
        assert ours.metric("slowpath_total") == 1


async def test_a_leader_continues_after_a_renewal_without_response(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        await clock.advance(1)
        ours.lock.faults["update"].append(LockFault.HANGS)
        await clock.advance(30)
        assert ours.elector.is_leader()


async def test_the_renew_deadline_counts_from_the_sending_of_the_renewal(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    ours.lock.response_seconds = 4
    async with running(ours):
        await clock.advance(4)
        sent_at = clock.monotonic()
        ours.lock.permanent_fault = LockFault.HANGS
        await clock.advance(9.9)
        assert ours.elector.is_leader()
        await clock.advance(0.1)
        assert clock.monotonic() == sent_at + SETTINGS.renew_deadline_seconds
        assert not ours.elector.is_leader()


async def test_work_that_returns_ends_the_leadership(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async def work() -> None:
        ours.elector.fence()

    assert await ours.elector.run(work) is LeadershipEnd.FINISHED
    assert lease.holder == ""


@pytest.mark.parametrize("error", [ValueError("a bug"), TimeoutError("a slow part")])
async def test_an_exception_of_the_work_is_raised_unchanged(
    lease: FakeLease, clock: VirtualClock, ours: Process, error: Exception
) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        await ours.elector.run(work)
    assert raised.value is error
    assert lease.holder == ""


# Losing the lease --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [LockFault.FAILS, LockFault.HANGS])
async def test_a_leader_that_cannot_renew_stops_at_its_deadline(
    lease: FakeLease, clock: VirtualClock, ours: Process, fault: LockFault
) -> None:
    async with running(ours) as task:
        await clock.advance(1)
        ours.lock.permanent_fault = fault
        await clock.advance(8.9)
        assert ours.elector.is_leader()
        await clock.advance(0.1)
        assert not ours.elector.is_leader()
        assert ours.events[-1] == "a stopped leading"
        await clock.advance(5)
        assert task.result() is LeadershipEnd.LOST
        assert not ours.terminated.is_set()


async def test_a_leader_that_sees_another_holder_stops_at_once(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours) as task:
        lease.write(THEIRS)
        await clock.advance(2)
        assert task.result() is LeadershipEnd.LOST
    assert lease.record == THEIRS
    assert ours.leaders == ["a", "b"]


@pytest.mark.parametrize(
    "edited", [None, replace(THEIRS, holder="")], ids=["deleted", "holder removed"]
)
async def test_a_leader_whose_lease_was_free_for_a_moment_stops(
    lease: FakeLease, clock: VirtualClock, ours: Process, edited: LeaseRecord | None
) -> None:
    async with running(ours) as task:
        lease.write(edited)
        await clock.advance(2)
        assert task.result() is LeadershipEnd.LOST
    assert lease.holder == ""


async def test_the_successor_begins_after_the_old_leader_has_ended(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    theirs = Process(lease, clock, "b")
    async with running(ours), running(theirs):
        await clock.advance(5)
        ours.lock.permanent_fault = LockFault.HANGS
        for _ in range(200):
            await clock.advance(0.1)
            assert not (ours.elector.is_leader() and theirs.elector.is_leader())
        assert theirs.elector.is_leader()


async def test_an_elector_can_run_again_after_a_loss(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours) as task:
        lease.write(THEIRS)
        await clock.advance(2)
        assert task.done()
    async with running(ours):
        await clock.advance(20)
        assert ours.elector.is_leader()
    assert lease.record is not None
    assert lease.record.transitions == THEIRS.transitions + 1


# Clock jumps, blocked event loops and work that does not stop ------------------------------------


async def test_the_fence_raises_immediately_after_a_clock_jump(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours) as task:
        clock.advance_timers(10)
        assert not ours.elector.is_leader()
        with pytest.raises(LeadershipLostError, match="a does not lead test"):
            ours.elector.fence()
        await run_ready_tasks()
        assert task.result() is LeadershipEnd.LOST


async def test_work_that_fails_at_the_fence_has_lost_the_lease(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async def work() -> None:
        clock.advance_timers(10)
        ours.elector.fence()

    assert await ours.elector.run(work) is LeadershipEnd.LOST
    assert lease.holder == ""


async def test_an_expired_term_is_not_renewed_even_if_the_lease_is_free(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        writes = lease.version
        clock.advance_timers(12)
        assert not ours.elector.is_leader()
        await run_ready_tasks()
    assert (lease.holder, lease.version) == ("", writes + 1)


async def test_a_renewal_response_after_a_clock_jump_does_not_extend_the_term(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours) as task:
        ours.lock.response_seconds = 1
        await clock.advance(2.5)
        clock.advance_timers(8)
        assert not ours.elector.is_leader()
        ours.lock.response_seconds = 0
        await run_ready_tasks()
        assert task.result() is LeadershipEnd.LOST


async def test_an_acquisition_with_a_late_response_starts_no_leadership(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    ours.lock.response_seconds = 4
    async with running(ours):
        await clock.advance(5)
        clock.advance_timers(20)
        await run_ready_tasks()
        assert not ours.elector.is_leader()
        assert ours.events == []
        ours.lock.response_seconds = 0


async def test_the_process_is_terminated_before_the_lease_ends_if_the_work_ignores_its_cancellation(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with running(ours, stubborn) as task:
        ours.lock.permanent_fault = LockFault.FAILS
        await clock.advance(13.9)
        was_early = ours.terminated.is_set()
        await clock.advance(0.1)
        was_in_time = await asyncio.to_thread(ours.terminated.wait, THREAD_SECONDS)
        was_working = not task.done()
        release.set()
    assert (was_early, was_in_time, was_working) == (False, True, True)


async def test_the_process_is_terminated_before_the_lease_ends_if_the_event_loop_is_blocked(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    results: list[bool] = []

    async def blocking() -> None:
        clock.advance_timers(14)
        results.append(ours.terminated.wait(THREAD_SECONDS))

    async with running(ours, blocking):
        pass
    assert results == [True]


async def test_the_watchdog_ends_with_the_leadership(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    def watchdogs() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "watchdog"]

    async with running(ours):
        assert len(watchdogs()) == 1
    assert watchdogs() == []


# Stopping ----------------------------------------------------------------------------------------


async def test_a_clean_stop_releases_the_lease_after_the_work_has_ended(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    holder_at_the_end: list[str | None] = []

    async def work() -> None:
        try:
            await until_cancelled()
        finally:
            await clock.sleep(30)
            ours.elector.fence()
            holder_at_the_end.append(lease.holder)

    async with running(ours, work) as task:
        task.cancel()
        await clock.advance(30)
        assert task.cancelled()
    assert holder_at_the_end == ["a"]
    assert not ours.elector.is_leader()
    assert lease.record is not None
    assert (lease.holder, lease.record.duration_seconds, lease.record.transitions) == ("", 1, 0)


async def test_a_released_lease_is_acquired_within_a_retry_period(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    theirs = Process(lease, clock, "b")
    async with running(theirs):
        async with running(ours):
            await clock.advance(1)
        await clock.advance(SETTINGS.jittered_wait_seconds(1.0))
    assert "b became leader" in ours.events + theirs.events


async def test_a_release_does_not_change_the_lease_of_a_successor(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        await clock.advance(1)
        lease.write(THEIRS)
    assert lease.record == THEIRS


@pytest.mark.parametrize("fault", [LockFault.HANGS, LockFault.HANGS_AFTER_WRITE])
@pytest.mark.parametrize("call", ["get", "update"])
async def test_a_stop_during_a_renewal_releases_the_lease(
    lease: FakeLease, clock: VirtualClock, ours: Process, call: str, fault: LockFault
) -> None:
    async with running(ours):
        lease.write(lease.record)
        ours.lock.faults[call].append(fault)
        await clock.advance(2)
    assert lease.holder == ""
    assert ours.events == ["a became leader", "a stopped leading"]


async def test_a_stop_during_the_first_write_releases_the_lease(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    ours.lock.faults["create"].append(LockFault.HANGS_AFTER_WRITE)
    async with running(ours):
        assert lease.holder == "a"
    assert lease.holder == ""


async def test_a_release_that_conflicts_with_a_late_renewal_is_retried(
    lease: FakeLease, clock: VirtualClock, ours: Process
) -> None:
    async with running(ours):
        lease.calls.clear()
        ours.lock.faults["get"].append(LockFault.OTHER_WRITE_FOLLOWS)
    assert lease.calls == ["get", "update", "get", "update"]
    assert lease.holder == ""


async def test_a_stopping_follower_does_not_change_the_lease(clock: VirtualClock) -> None:
    lease = FakeLease(THEIRS)
    async with running(Process(lease, clock)):
        await clock.advance(1)
    assert (lease.record, lease.calls) == (THEIRS, ["get"])


@pytest.mark.parametrize("fault", [LockFault.FAILS, LockFault.HANGS])
async def test_a_stop_ends_within_the_renew_deadline_if_the_server_is_unreachable(
    lease: FakeLease, clock: VirtualClock, ours: Process, fault: LockFault
) -> None:
    async with running(ours) as task:
        ours.lock.permanent_fault = fault
        task.cancel()
        await clock.advance(SETTINGS.renew_deadline_seconds)
        assert task.cancelled()
