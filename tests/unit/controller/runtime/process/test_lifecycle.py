"""Tests of the lifecycle: components start in order, and stop in reverse within one time budget."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from controller.runtime.leader.elector import LeadershipEnd
from controller.runtime.leader.rules import LeadershipLostError
from controller.runtime.process.lifecycle import Lifecycle, LifecycleComponents, StopTimeoutError
from tests.support.clocks.virtual_clock import VirtualClock


@dataclass
class Script:
    """Recorded steps in their order, and the scripted behaviour of the components."""

    steps: list[str] = field(default_factory=list)
    cache_syncs: asyncio.Event = field(default_factory=asyncio.Event)
    elected: asyncio.Event = field(default_factory=asyncio.Event)
    lose: asyncio.Event = field(default_factory=asyncio.Event)
    stubborn: bool = False

    def note(self, step: str) -> None:
        self.steps.append(step)


@asynccontextmanager
async def probes(script: Script) -> AsyncIterator[None]:
    script.note("probes up")
    try:
        yield
    finally:
        script.note("probes down")


class ScriptedCache:
    """Cache that is synced when the script says so."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self) -> None:
        self._script.note("cache up")
        try:
            await asyncio.Event().wait()
        finally:
            self._script.note("cache down")

    async def synced(self) -> None:
        await self._script.cache_syncs.wait()

    def not_ready(self) -> list[str]:
        return [] if self._script.cache_syncs.is_set() else ["the cache has not synced"]


class ScriptedRecorder:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self) -> None:
        self._script.note("events up")
        try:
            await asyncio.Event().wait()
        finally:
            self._script.note("events down")


class ScriptedElector:
    """Elector that elects when the script says so; has the guarantees of the real elector."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, lead: Callable[[], Awaitable[None]]) -> LeadershipEnd:
        try:
            await self._script.elected.wait()
            return await self._run_until_lost(lead)
        finally:
            self._script.note("lease released")

    async def _run_until_lost(self, lead: Callable[[], Awaitable[None]]) -> LeadershipEnd:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._until_done(lead))
            losing = group.create_task(self._script.lose.wait())
            await asyncio.wait({work, losing}, return_when=asyncio.FIRST_COMPLETED)
            work.cancel()
            losing.cancel()
        return LeadershipEnd.LOST if self._script.lose.is_set() else LeadershipEnd.FINISHED

    async def _until_done(self, lead: Callable[[], Awaitable[None]]) -> None:
        await lead()


class ScriptedLoop:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, stop: asyncio.Event) -> None:
        self._script.note("loop up")
        try:
            await (asyncio.Event() if self._script.stubborn else stop).wait()
        finally:
            self._script.note("loop down")


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def components_of(script: Script) -> LifecycleComponents:
    return LifecycleComponents(
        probes=probes(script),
        caches=[ScriptedCache(script)],
        runnables=[ScriptedRecorder(script)],
        elector=ScriptedElector(script),
        loops=[ScriptedLoop(script)],
    )


async def outcome(work: Awaitable[None]) -> Exception | None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - the test checks it
        return error
    return None


async def test_components_start_in_order_and_stop_in_reverse(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle, stop = Lifecycle(components_of(script), clock), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(lifecycle.run(stop)))
        script.cache_syncs.set()
        script.elected.set()
        await clock.advance(1)
        stop.set()
    assert running.result() is None
    assert script.steps == [
        "probes up",
        "cache up",
        "events up",
        "loop up",
        "loop down",
        "lease released",
        "events down",
        "cache down",
        "probes down",
    ]


async def test_the_election_starts_only_after_the_caches_have_synced(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle, stop = Lifecycle(components_of(script), clock), asyncio.Event()
    script.elected.set()
    async with asyncio.TaskGroup() as group:
        group.create_task(lifecycle.run(stop))
        await clock.advance(60)
        assert script.steps == ["probes up", "cache up"]
        assert lifecycle.not_ready() == ["the cache has not synced"]
        script.cache_syncs.set()
        await clock.advance(1)
        assert script.steps[-1] == "loop up"
        assert lifecycle.not_ready() == []
        stop.set()


async def test_a_stop_before_the_caches_have_synced_starts_no_further_component(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle, stop = Lifecycle(components_of(script), clock), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(lifecycle.run(stop))
        await clock.advance(1)
        stop.set()
    assert script.steps == ["probes up", "cache up", "cache down", "probes down"]


async def test_a_standby_runs_its_caches_and_stops_without_starting_its_loops(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle, stop = Lifecycle(components_of(script), clock), asyncio.Event()
    script.cache_syncs.set()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(lifecycle.run(stop)))
        await clock.advance(3600)
        assert script.steps == ["probes up", "cache up", "events up"]
        stop.set()
    assert running.result() is None
    assert "loop up" not in script.steps


async def test_a_lost_lease_ends_the_loops_and_the_process(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle, stop = Lifecycle(components_of(script), clock), asyncio.Event()
    script.cache_syncs.set()
    script.elected.set()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(lifecycle.run(stop)))
        await clock.advance(1)
        script.lose.set()
    assert isinstance(running.result(), LeadershipLostError)
    assert script.steps[-1] == "probes down"


async def test_without_an_election_the_loops_start_at_once(
    script: Script, clock: VirtualClock
) -> None:
    lifecycle = Lifecycle(replace(components_of(script), elector=None), clock)
    stop = asyncio.Event()
    script.cache_syncs.set()
    async with asyncio.TaskGroup() as group:
        group.create_task(lifecycle.run(stop))
        await clock.advance(1)
        assert "loop up" in script.steps
        stop.set()


async def test_a_loop_that_does_not_stop_is_cancelled_after_the_stop_timeout(
    script: Script, clock: VirtualClock
) -> None:
    script.stubborn = True
    script.cache_syncs.set()
    script.elected.set()
    lifecycle, stop = (
        Lifecycle(components_of(script), clock, stop_timeout_seconds=10),
        asyncio.Event(),
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(lifecycle.run(stop)))
        await clock.advance(1)
        stop.set()
        await clock.advance(9)
        assert not running.done()
        await clock.advance(2)
    assert isinstance(running.result(), StopTimeoutError)
    assert script.steps[-1] == "probes down"


async def test_a_cache_that_crashes_ends_the_process(script: Script, clock: VirtualClock) -> None:
    class BrokenCache(ScriptedCache):
        async def run(self) -> None:
            raise RuntimeError("broken cache")

    lifecycle = Lifecycle(replace(components_of(script), caches=[BrokenCache(script)]), clock)
    error = await outcome(lifecycle.run(asyncio.Event()))
    assert isinstance(error, ExceptionGroup)
    assert error.subgroup(RuntimeError) is not None
    assert script.steps[-1] == "probes down"
