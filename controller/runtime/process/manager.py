"""The life of a controller process: everything started in order and stopped in reverse."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from controller.runtime.clock import Clock
from controller.runtime.leader.elector import Ending
from controller.runtime.leader.rules import LeadershipLostError

STOP_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


class StopTimeoutError(Exception):
    """Not everything had stopped when the time for it was over."""


class Background(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None: ...


class Cache(Background, Protocol):
    """A background that must have caught up before any work begins."""

    async def synced(self) -> None: ...
    def not_ready(self) -> Sequence[str]: ...


class Elector(Protocol):
    """Lets one process at a time lead; a LeaderElector."""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> Ending: ...


class Loop(Protocol):
    """Work that only a leader does, until it is told to stop."""

    async def run(self, stop: asyncio.Event) -> None: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a process consists of, in the order of start."""

    probes: AbstractAsyncContextManager[None]
    caches: Sequence[Cache]
    background: Sequence[Background]
    elector: Elector | None
    loops: Sequence[Loop]


class Manager:
    """Probes first, so that the process can be seen; then caches; then election; then work.

    A standby keeps its caches warm, so taking over costs one lease and no list. At a stop the loops
    finish what they have begun, the lease is given back, events are written out, and only then do
    caches and probes go.
    """

    def __init__(self, parts: Parts, clock: Clock, stop_seconds: float = STOP_SECONDS) -> None:
        self._parts = parts
        self._clock = clock
        self._stop_seconds = stop_seconds
        self._leading = False

    def not_ready(self) -> list[str]:
        """Why this process could not do its work now, were it the leader."""
        return [reason for cache in self._parts.caches for reason in cache.not_ready()]

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; LeadershipLostError or StopTimeoutError where the end is not clean."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(stop), name="manager")
            budget = group.create_task(self._enforce(stop, work), name="stop budget")
            await asyncio.wait({work})
            budget.cancel()
        if work.cancelled():
            raise StopTimeoutError(f"not everything had stopped after {self._stop_seconds:g} s")
        if work.result() is Ending.LOST:
            raise LeadershipLostError("leader election lost: another process may lead now")

    async def _work(self, stop: asyncio.Event) -> Ending:
        async with self._parts.probes, running(self._parts.caches):
            if not await self._caught_up(stop):
                return Ending.FINISHED
            async with running(self._parts.background):
                return await self._lead_until(stop)

    async def _caught_up(self, stop: asyncio.Event) -> bool:
        """Wait for the caches; whether there is anything left to do then."""
        async with asyncio.TaskGroup() as group:
            syncing = group.create_task(self._sync_all())
            stopping = group.create_task(stop.wait())
            await asyncio.wait({syncing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            syncing.cancel()
            stopping.cancel()
        return not stop.is_set()

    async def _sync_all(self) -> None:
        for cache in self._parts.caches:
            await cache.synced()
        log.info("caches_synced", extra={"caches": len(self._parts.caches)})

    async def _lead_until(self, stop: asyncio.Event) -> Ending:
        if self._parts.elector is None:
            await self._lead(stop)
            return Ending.FINISHED
        async with asyncio.TaskGroup() as group:
            electing = group.create_task(self._parts.elector.run(lambda: self._lead(stop)))
            stopping = group.create_task(stop.wait())
            await asyncio.wait({electing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not self._leading:
                electing.cancel()  # a standby has nothing to finish
        return Ending.FINISHED if electing.cancelled() else electing.result()

    async def _lead(self, stop: asyncio.Event) -> None:
        self._leading = True
        async with asyncio.TaskGroup() as group:
            for loop in self._parts.loops:
                group.create_task(loop.run(stop), name="loop")
            await stop.wait()

    async def _enforce(self, stop: asyncio.Event, work: "asyncio.Task[Ending]") -> None:
        await stop.wait()
        await self._clock.sleep(self._stop_seconds)
        log.error("stop_timed_out", extra={"seconds": self._stop_seconds})
        work.cancel()


@asynccontextmanager
async def running(backgrounds: Sequence[Background]) -> AsyncIterator[None]:
    """Run all of them for the length of the block; the crash of one ends it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(background.run()) for background in backgrounds]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
