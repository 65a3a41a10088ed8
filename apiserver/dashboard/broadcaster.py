"""The live page: somebody looks at the cluster while somebody looks at the page."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from apiserver.clock import Clock
from apiserver.dashboard.frame import Beat, Edition, beat, seen, unseen
from apiserver.dashboard.snapshot import Sighting
from apiserver.dashboard.view import overview
from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors

LOOK_INTERVAL: Final = 1.0
LONGEST_PAUSE: Final = 10.0
BEAT_INTERVAL: Final = 5.0
MOST_VIEWERS: Final = 50
# A look costs the API server what it must write: larger clusters are looked at less often.
OBJECTS_A_SECOND: Final = 1000
RETRY_SECONDS: Final = 10


class Looking(Protocol):
    """Somebody who can look at the cluster."""

    async def look(self) -> Sighting: ...


class Feed:
    """Keeps one edition for all viewers of this process; without viewers it does nothing."""

    def __init__(self, lookout: Looking, clock: Clock, most: int = MOST_VIEWERS) -> None:
        self._lookout = lookout
        self._clock = clock
        self._most = most
        self._viewers = 0
        self._wanted = asyncio.Event()
        self._edition = Edition()
        self._number = 0
        self._told = asyncio.Event()

    async def run(self) -> None:
        """Look and give signs of life for ever, while there are viewers."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_looking(), name="look")
            group.create_task(self._keep_beating(), name="beat")

    @contextmanager
    def seat(self) -> Iterator["Seat"]:
        """A place for one viewer; ServiceUnavailableError when all are taken.

        The first viewer waits for a look: what is left from the last one is of any age.
        """
        if self._viewers >= self._most:
            raise ServiceUnavailableError(
                f"{self._most} viewers look at this replica already; close a page, or try later",
                retry_after=RETRY_SECONDS,
            )
        known = self._number if self._viewers == 0 else self._number - 1
        self._viewers += 1
        self._wanted.set()
        try:
            yield Seat(self, known)
        finally:
            self._viewers -= 1
            if self._viewers == 0:
                self._wanted.clear()

    async def after(self, number: int) -> int:
        """The number of the newest thing to tell, once it is not `number` any more."""
        while self._number == number:
            await self._told.wait()
        return self._number

    def news(self) -> tuple[Edition, Beat]:
        """The edition, and how old it is by now."""
        return self._edition, beat(self._edition, self._clock.now(), self._clock.monotonic())

    async def look(self) -> int:
        """Look once, and tell what came of it; how many objects were read for that."""
        sighting = Sighting()
        try:
            sighting = await self._lookout.look()
        except kube_errors.ClusterError as error:
            self._edition = unseen(self._edition, error)
        else:
            self._edition = seen(overview(sighting), self._clock.monotonic())
        self._tell()
        return sighting.size

    async def _keep_looking(self) -> None:
        while True:
            await self._wanted.wait()
            await self._clock.sleep(pause(await self.look()))

    async def _keep_beating(self) -> None:
        """A look may hang; viewers must not take that for a broken connection."""
        while True:
            await self._wanted.wait()
            await self._clock.sleep(BEAT_INTERVAL)
            self._tell()

    def _tell(self) -> None:
        self._number += 1
        told, self._told = self._told, asyncio.Event()
        told.set()


class Seat:
    """One viewer, who is told the newest and misses what is older: nothing waits for the slow."""

    def __init__(self, feed: Feed, known: int) -> None:
        self._feed = feed
        self._known = known

    async def news(self) -> tuple[Edition, Beat]:
        """What there is to tell, as soon as there is anything new."""
        self._known = await self._feed.after(self._known)
        return self._feed.news()


def pause(size: int) -> float:
    """How long to rest after a look at so many objects."""
    return min(max(LOOK_INTERVAL, size / OBJECTS_A_SECOND), LONGEST_PAUSE)
