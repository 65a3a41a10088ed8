"""The start and stop of a controller process: in order, and in reverse order."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from controller.runtime.clock import Clock
from controller.runtime.leader.elector import LeadershipEnd
from controller.runtime.leader.rules import LeadershipLostError

STOP_TIMEOUT_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


class StopTimeoutError(Exception):
    """The process did not stop within its time limit."""


class Runnable(Protocol):
    """A background task that runs until it is cancelled."""

    async def run(self) -> None: ...


class SyncedRunnable(Runnable, Protocol):
    """A background task, such as a cache, that must have synced before work begins."""

    async def synced(self) -> None: ...
    def not_ready(self) -> Sequence[str]: ...


class Elector(Protocol):
    """Runs work in one process at a time, as a LeaderElector does."""

    async def run(self, work: Callable[[], Awaitable[None]]) -> LeadershipEnd: ...


class LeaderRunnable(Protocol):
    """Work that only the leader does, until `stop` is set."""

    async def run(self, stop: asyncio.Event) -> None: ...


@dataclass(frozen=True, slots=True)
class LifecycleComponents:
    """The parts of a process, in the order of their start."""

    probes: AbstractAsyncContextManager[None]
    caches: Sequence[SyncedRunnable]
    runnables: Sequence[Runnable]
    elector: Elector | None
    loops: Sequence[LeaderRunnable]


class Lifecycle:
    """Starts probes, caches, runnables, the election, and then the loops; stops in reverse.

    A standby keeps its caches in sync, so a take-over waits for the lease and needs no list. At a
    stop the loops finish the running reconciles, the lease is released, pending events are written,
    and then caches and probes end.
    """

    def __init__(
        self,
        components: LifecycleComponents,
        clock: Clock,
        stop_timeout_seconds: float = STOP_TIMEOUT_SECONDS,
    ) -> None:
        self._components = components
        self._clock = clock
        self._stop_timeout_seconds = stop_timeout_seconds
        self._is_leading = False

    def not_ready(self) -> list[str]:
        """Return why this process could not work now, if it were the leader."""
        return [reason for cache in self._components.caches for reason in cache.not_ready()]

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`; LeadershipLostError or StopTimeoutError if the end is not clean."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(stop), name="manager")
            budget = group.create_task(self._enforce_stop_timeout(stop, work), name="stop timeout")
            await asyncio.wait({work})
            budget.cancel()
        if work.cancelled():
            raise StopTimeoutError(
                f"the process did not stop within {self._stop_timeout_seconds:g} s"
            )
        if work.result() is LeadershipEnd.LOST:
            raise LeadershipLostError("leadership lost: another process may lead now")

    async def _work(self, stop: asyncio.Event) -> LeadershipEnd:
        async with self._components.probes, running(self._components.caches):
            if not await self._wait_for_caches(stop):
                return LeadershipEnd.FINISHED
            async with running(self._components.runnables):
                return await self._elect_until_stop(stop)

    async def _wait_for_caches(self, stop: asyncio.Event) -> bool:
        """Wait until all caches have synced; False if `stop` was set first."""
        async with asyncio.TaskGroup() as group:
            syncing = group.create_task(self._wait_all_synced())
            stopping = group.create_task(stop.wait())
            await asyncio.wait({syncing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            syncing.cancel()
            stopping.cancel()
        return not stop.is_set()

    async def _wait_all_synced(self) -> None:
        for cache in self._components.caches:
            await cache.synced()
        log.info("caches_synced", extra={"caches": len(self._components.caches)})

    async def _elect_until_stop(self, stop: asyncio.Event) -> LeadershipEnd:
        if self._components.elector is None:
            await self._run_loops(stop)
            return LeadershipEnd.FINISHED
        async with asyncio.TaskGroup() as group:
            electing = group.create_task(
                self._components.elector.run(lambda: self._run_loops(stop))
            )
            stopping = group.create_task(stop.wait())
            await asyncio.wait({electing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not self._is_leading:
                electing.cancel()  # a standby has nothing to finish
        return LeadershipEnd.FINISHED if electing.cancelled() else electing.result()

    async def _run_loops(self, stop: asyncio.Event) -> None:
        self._is_leading = True
        async with asyncio.TaskGroup() as group:
            for loop in self._components.loops:
                group.create_task(loop.run(stop), name="loop")
            await stop.wait()

    async def _enforce_stop_timeout(
        self, stop: asyncio.Event, work: "asyncio.Task[LeadershipEnd]"
    ) -> None:
        await stop.wait()
        await self._clock.sleep(self._stop_timeout_seconds)
        log.error("stop_timed_out", extra={"seconds": self._stop_timeout_seconds})
        work.cancel()


@asynccontextmanager
async def running(runnables: Sequence[Runnable]) -> AsyncIterator[None]:
    """Run all runnables during the block; if one raises, the block is cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runnable.run()) for runnable in runnables]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
