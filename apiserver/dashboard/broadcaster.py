"""The broadcast of dashboard snapshots; the cluster is read only while there are viewers."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from apiserver.dashboard.frame import DashboardFrame, Heartbeat, heartbeat, new_frame, stale_frame
from apiserver.dashboard.snapshot import ClusterSnapshot
from apiserver.dashboard.view import dashboard_view
from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from shared.clock import Clock

MIN_REFRESH_SECONDS: Final = 1.0
MAX_REFRESH_SECONDS: Final = 10.0
HEARTBEAT_SECONDS: Final = 5.0
MAX_VIEWERS: Final = 50
# A snapshot costs the API server its size: larger clusters are read less often.
OBJECTS_PER_SECOND: Final = 1000
RETRY_AFTER_SECONDS: Final = 10


class SnapshotSource(Protocol):
    """A source of snapshots."""

    async def collect(self) -> ClusterSnapshot: ...


class DashboardBroadcaster:
    """A broadcaster of one frame to all viewers of this process; idle without viewers."""

    def __init__(
        self, source: SnapshotSource, clock: Clock, max_viewers: int = MAX_VIEWERS
    ) -> None:
        self._source = source
        self._clock = clock
        self._max_viewers = max_viewers
        self._viewers = 0
        self._has_viewers = asyncio.Event()
        self._frame = DashboardFrame()
        self._sequence = 0
        self._updated = asyncio.Event()

    async def run(self) -> None:
        """Refresh the frame and send heartbeats until cancelled, while there are viewers."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._refresh_loop(), name="refresh")
            group.create_task(self._heartbeat_loop(), name="heartbeat")

    @contextmanager
    def subscribe(self) -> Iterator["Subscriber"]:
        """Subscribe one viewer; ServiceUnavailableError if there are too many.

        The first viewer waits for a new snapshot: the last one may be of any age.
        """
        if self._viewers >= self._max_viewers:
            raise ServiceUnavailableError(
                f"this replica has reached its maximum of {self._max_viewers} viewers; "
                "close a page, or retry later",
                retry_after=RETRY_AFTER_SECONDS,
            )
        sequence = self._sequence if self._viewers == 0 else self._sequence - 1
        self._viewers += 1
        self._has_viewers.set()
        try:
            yield Subscriber(self, sequence)
        finally:
            self._viewers -= 1
            if self._viewers == 0:
                self._has_viewers.clear()

    async def wait_after(self, sequence: int) -> int:
        """Wait for an update after `sequence`, and return the latest sequence number."""
        while self._sequence == sequence:
            await self._updated.wait()
        return self._sequence

    def latest(self) -> tuple[DashboardFrame, Heartbeat]:
        """Return the latest frame, and a heartbeat with its age."""
        return self._frame, heartbeat(self._frame, self._clock.now(), self._clock.monotonic())

    async def refresh(self) -> int:
        """Take one snapshot and notify the viewers; return how many objects were read."""
        snapshot = ClusterSnapshot()
        try:
            snapshot = await self._source.collect()
        except kube_errors.KubeError as error:
            self._frame = stale_frame(self._frame, error)
        else:
            self._frame = new_frame(dashboard_view(snapshot), self._clock.monotonic())
        self._notify()
        return snapshot.object_count

    async def _refresh_loop(self) -> None:
        while True:
            await self._has_viewers.wait()
            await self._clock.sleep(refresh_seconds(await self.refresh()))

    async def _heartbeat_loop(self) -> None:
        """Notify the viewers also while a snapshot hangs: their connections are alive."""
        while True:
            await self._has_viewers.wait()
            await self._clock.sleep(HEARTBEAT_SECONDS)
            self._notify()

    def _notify(self) -> None:
        self._sequence += 1
        previous, self._updated = self._updated, asyncio.Event()
        previous.set()


class Subscriber:
    """One viewer, which gets the latest frame and misses older ones if it is slow."""

    def __init__(self, broadcaster: DashboardBroadcaster, sequence: int) -> None:
        self._broadcaster = broadcaster
        self._sequence = sequence

    async def receive(self) -> tuple[DashboardFrame, Heartbeat]:
        """Wait for an update, and return the latest frame with a heartbeat."""
        self._sequence = await self._broadcaster.wait_after(self._sequence)
        return self._broadcaster.latest()


def refresh_seconds(object_count: int) -> float:
    """Return the pause after a snapshot of `object_count` objects."""
    return min(max(MIN_REFRESH_SECONDS, object_count / OBJECTS_PER_SECOND), MAX_REFRESH_SECONDS)
