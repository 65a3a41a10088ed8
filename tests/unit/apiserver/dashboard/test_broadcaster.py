"""Tests of the dashboard broadcaster: it polls the cluster only while the page has viewers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import pytest

from apiserver.dashboard.broadcaster import DashboardBroadcaster, Subscriber, refresh_seconds
from apiserver.dashboard.frame import DashboardFrame, Heartbeat
from apiserver.dashboard.snapshot import ClusterSnapshot
from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks
from tests.unit.apiserver.dashboard.snapshot_objects import new_unit

DOWN = kube_errors.UnreachableError("nobody is there")


class ScriptedSnapshotSource:
    """Snapshot source with scripted results; one snapshot takes `seconds`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.looks = 0
        self.seconds = 0.0
        self.answer: ClusterSnapshot | kube_errors.UnreachableError = ClusterSnapshot()

    async def collect(self) -> ClusterSnapshot:
        self.looks += 1
        if self.seconds:
            await self._clock.sleep(self.seconds)
        if isinstance(self.answer, kube_errors.UnreachableError):
            raise self.answer
        return self.answer


class Played:
    """Broadcaster on a virtual clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.lookout = ScriptedSnapshotSource(self.clock)
        self.feed = DashboardBroadcaster(self.lookout, self.clock, max_viewers=2)


@asynccontextmanager
async def playing() -> AsyncIterator[Played]:
    played = Played()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(played.feed.run())
        await run_ready_tasks()
        yield played
        running.cancel()


async def told(seat: Subscriber) -> tuple[DashboardFrame, Heartbeat]:
    """Return the subscriber's next frame and heartbeat; raise TimeoutError if there is none."""
    async with asyncio.timeout(60):
        return await seat.receive()


async def is_told_nothing(seat: Subscriber) -> bool:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(seat.receive())
        await run_ready_tasks()
        silent = not task.done()
        task.cancel()
    return silent


async def test_the_cluster_is_not_polled_without_viewers() -> None:
    async with playing() as played:
        await played.clock.advance(60)
        assert played.lookout.looks == 0


async def test_a_viewer_gets_a_snapshot_at_once_and_the_cluster_is_polled_every_second() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            edition, beat = await told(seat)
            assert (edition.body[:1], beat.age_seconds, beat.trouble) == (b"{", 0.0, "")
            await played.clock.advance(10)
            assert played.lookout.looks == 11
        await played.clock.advance(60)
        assert played.lookout.looks == 11


async def test_two_viewers_cost_as_much_as_one() -> None:
    async with playing() as played:
        with played.feed.subscribe() as one, played.feed.subscribe() as other:
            assert (await told(one))[0] == (await told(other))[0]
            await played.clock.advance(3)
        assert played.lookout.looks == 4


async def test_a_first_viewer_does_not_get_an_outdated_snapshot() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            old, _ = await told(seat)
        await played.clock.advance(3600)
        played.lookout.answer = ClusterSnapshot(units=(new_unit(),))
        with played.feed.subscribe() as seat:
            assert (await told(seat))[0].digest != old.digest


async def test_a_second_viewer_does_not_wait_for_a_look() -> None:
    async with playing() as played:
        with played.feed.subscribe() as first:
            seen, _ = await told(first)
            with played.feed.subscribe() as second:
                assert (await told(second))[0] == seen
        assert played.lookout.looks == 1


async def test_the_mark_changes_with_what_is_seen_and_with_nothing_else() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            first, _ = await told(seat)
            await played.clock.advance(1)
            same, _ = await told(seat)
            played.lookout.answer = ClusterSnapshot(units=(new_unit(),))
            await played.clock.advance(1)
            changed, _ = await told(seat)
    assert first.digest == same.digest != changed.digest


async def test_a_slow_viewer_gets_only_the_newest_snapshot() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            await played.clock.advance(3)
            played.lookout.answer = ClusterSnapshot(units=(new_unit(),))
            await played.clock.advance(1)
            edition, _ = await told(seat)
            assert b'"name":"u"' in edition.body
            assert await is_told_nothing(seat)


async def test_while_kubernetes_is_down_what_was_seen_stays_and_grows_old() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            seen, _ = await told(seat)
            played.lookout.answer = DOWN
            await played.clock.advance(4)
            edition, beat = await told(seat)
            assert (edition.body, edition.digest) == (seen.body, seen.digest)
            assert (beat.age_seconds, beat.trouble) == (4.0, "nobody is there")
            played.lookout.answer = ClusterSnapshot()
            await played.clock.advance(1)
            assert (await told(seat))[1] == Heartbeat(now="2026-11-16T00:00:05Z", age_seconds=0.0)


async def test_a_new_viewer_gets_the_error_while_kubernetes_is_down() -> None:
    async with playing() as played:
        played.lookout.answer = DOWN
        with played.feed.subscribe() as seat:
            edition, beat = await told(seat)
    assert edition.body == b""
    assert (beat.age_seconds, beat.trouble) == (None, "nobody is there")


async def test_a_hanging_poll_does_not_stop_the_heartbeats() -> None:
    async with playing() as played:
        with played.feed.subscribe() as seat:
            await told(seat)
            played.lookout.seconds = 1000.0
            await played.clock.advance(1)
            assert await is_told_nothing(seat)
            await played.clock.advance(5)
            assert (await told(seat))[1].age_seconds == 6.0


async def test_the_number_of_viewers_is_limited_and_a_freed_slot_is_reused() -> None:
    feed = Played().feed
    with ExitStack() as first, feed.subscribe():
        first.enter_context(feed.subscribe())
        with pytest.raises(ServiceUnavailableError, match="2 viewers") as refused, feed.subscribe():
            pass
        assert refused.value.retry_after
        first.close()
        with feed.subscribe():
            pass


async def test_a_large_cluster_is_looked_at_less_often() -> None:
    async with playing() as played:
        played.lookout.answer = ClusterSnapshot(
            units=(new_unit(),) * 3000, stock=(new_unit(),) * 2000
        )
        with played.feed.subscribe():
            await played.clock.advance(10)
    assert played.lookout.looks == 3


@pytest.mark.parametrize(("size", "seconds"), [(0, 1.0), (1000, 1.0), (4500, 4.5), (10**6, 10.0)])
def test_the_poll_interval_grows_with_the_number_of_objects(size: int, seconds: float) -> None:
    assert refresh_seconds(size) == seconds
