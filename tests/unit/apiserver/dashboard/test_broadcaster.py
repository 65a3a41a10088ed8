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

DOWN = kube_errors.UnreachableError("connection refused")


class ScriptedSnapshotSource:
    """Snapshot source with scripted results; one snapshot takes `seconds`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.collect_count = 0
        self.seconds = 0.0
        self.result: ClusterSnapshot | kube_errors.UnreachableError = ClusterSnapshot()

    async def collect(self) -> ClusterSnapshot:
        self.collect_count += 1
        if self.seconds:
            await self._clock.sleep(self.seconds)
        if isinstance(self.result, kube_errors.UnreachableError):
            raise self.result
        return self.result


class VirtualDashboard:
    """Broadcaster with a scripted source, on a virtual clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.source = ScriptedSnapshotSource(self.clock)
        self.broadcaster = DashboardBroadcaster(self.source, self.clock, max_viewers=2)


@asynccontextmanager
async def run_dashboard() -> AsyncIterator[VirtualDashboard]:
    dashboard = VirtualDashboard()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(dashboard.broadcaster.run())
        await run_ready_tasks()
        yield dashboard
        task.cancel()


async def receive(viewer: Subscriber) -> tuple[DashboardFrame, Heartbeat]:
    """Return the viewer's next frame and heartbeat; raise TimeoutError if there is none."""
    async with asyncio.timeout(60):
        return await viewer.receive()


async def has_no_update(viewer: Subscriber) -> bool:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(viewer.receive())
        await run_ready_tasks()
        is_waiting = not task.done()
        task.cancel()
    return is_waiting


async def test_the_cluster_is_not_polled_without_viewers() -> None:
    async with run_dashboard() as dashboard:
        await dashboard.clock.advance(60)
        assert dashboard.source.collect_count == 0


async def test_a_viewer_gets_a_snapshot_at_once_and_the_cluster_is_polled_every_second() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            frame, heartbeat = await receive(viewer)
            assert (frame.body[:1], heartbeat.age_seconds, heartbeat.trouble) == (b"{", 0.0, "")
            await dashboard.clock.advance(10)
            assert dashboard.source.collect_count == 11
        await dashboard.clock.advance(60)
        assert dashboard.source.collect_count == 11


async def test_two_viewers_share_the_polls_of_the_cluster() -> None:
    async with run_dashboard() as dashboard:
        with (
            dashboard.broadcaster.subscribe() as first,
            dashboard.broadcaster.subscribe() as second,
        ):
            assert (await receive(first))[0] == (await receive(second))[0]
            await dashboard.clock.advance(3)
        assert dashboard.source.collect_count == 4


async def test_a_first_viewer_does_not_get_an_outdated_snapshot() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            old, _ = await receive(viewer)
        await dashboard.clock.advance(3600)
        dashboard.source.result = ClusterSnapshot(units=(new_unit(),))
        with dashboard.broadcaster.subscribe() as viewer:
            assert (await receive(viewer))[0].digest != old.digest


async def test_a_second_viewer_does_not_wait_for_a_poll() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as first:
            frame, _ = await receive(first)
            with dashboard.broadcaster.subscribe() as second:
                assert (await receive(second))[0] == frame
        assert dashboard.source.collect_count == 1


async def test_the_digest_changes_only_with_the_snapshot() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            first, _ = await receive(viewer)
            await dashboard.clock.advance(1)
            same, _ = await receive(viewer)
            dashboard.source.result = ClusterSnapshot(units=(new_unit(),))
            await dashboard.clock.advance(1)
            changed, _ = await receive(viewer)
    assert first.digest == same.digest != changed.digest


async def test_a_slow_viewer_gets_only_the_newest_snapshot() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            await dashboard.clock.advance(3)
            dashboard.source.result = ClusterSnapshot(units=(new_unit(),))
            await dashboard.clock.advance(1)
            frame, _ = await receive(viewer)
            assert b'"name":"u"' in frame.body
            assert await has_no_update(viewer)


async def test_while_kubernetes_is_down_the_last_frame_stays_and_its_age_grows() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            last_frame, _ = await receive(viewer)
            dashboard.source.result = DOWN
            await dashboard.clock.advance(4)
            frame, heartbeat = await receive(viewer)
            assert (frame.body, frame.digest) == (last_frame.body, last_frame.digest)
            assert (heartbeat.age_seconds, heartbeat.trouble) == (4.0, "connection refused")
            dashboard.source.result = ClusterSnapshot()
            await dashboard.clock.advance(1)
            assert (await receive(viewer))[1] == Heartbeat(
                now="2026-11-16T00:00:05Z", age_seconds=0.0
            )


async def test_a_new_viewer_gets_the_error_while_kubernetes_is_down() -> None:
    async with run_dashboard() as dashboard:
        dashboard.source.result = DOWN
        with dashboard.broadcaster.subscribe() as viewer:
            frame, heartbeat = await receive(viewer)
    assert frame.body == b""
    assert (heartbeat.age_seconds, heartbeat.trouble) == (None, "connection refused")


async def test_a_hanging_poll_does_not_stop_the_heartbeats() -> None:
    async with run_dashboard() as dashboard:
        with dashboard.broadcaster.subscribe() as viewer:
            await receive(viewer)
            dashboard.source.seconds = 1000.0
            await dashboard.clock.advance(1)
            assert await has_no_update(viewer)
            await dashboard.clock.advance(5)
            assert (await receive(viewer))[1].age_seconds == 6.0


async def test_the_number_of_viewers_is_limited_and_a_freed_slot_is_reused() -> None:
    broadcaster = VirtualDashboard().broadcaster
    with ExitStack() as first, broadcaster.subscribe():
        first.enter_context(broadcaster.subscribe())
        with (
            pytest.raises(ServiceUnavailableError, match="2 viewers") as caught,
            broadcaster.subscribe(),
        ):
            pass
        assert caught.value.retry_after
        first.close()
        with broadcaster.subscribe():
            pass


async def test_a_large_cluster_is_polled_less_often() -> None:
    async with run_dashboard() as dashboard:
        dashboard.source.result = ClusterSnapshot(
            units=(new_unit(),) * 3000, stock=(new_unit(),) * 2000
        )
        with dashboard.broadcaster.subscribe():
            await dashboard.clock.advance(10)
    assert dashboard.source.collect_count == 3


@pytest.mark.parametrize(("size", "seconds"), [(0, 1.0), (1000, 1.0), (4500, 4.5), (10**6, 10.0)])
def test_the_poll_interval_grows_with_the_number_of_objects(size: int, seconds: float) -> None:
    assert refresh_seconds(size) == seconds
