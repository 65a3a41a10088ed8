"""A worker may die, or be told to end, at every single wait of an invocation."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack.cluster.nats_server import QueueServer
from serverless.worker.consume.puller import Puller
from shared.invocation.state import State
from tests.support.faults.crash_at_every_await import at_every_wait
from tests.support.faults.crashing_program import Moment, MortalProgram
from tests.support.queue.function_harness import (
    ACK_WAIT_SECONDS,
    UNHURRIED_SECONDS,
    FunctionWorld,
    new_world,
)
from tests.support.queue.in_process_worker import STEADY, Traits, a_worker
from tests.support.queue.invocation_scenarios import STORIES
from tests.support.queue.recording_framework import RecordingFramework, recording
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import first_of

INVOCATION: Final = Puller._run
PATIENT: Final = 60.0
ATTEMPTS: Final = {"it answers": 1, "it is tried again": 2}


class Place:
    """One function with one invocation, and workers that come and go."""

    def __init__(
        self, url: str, world: FunctionWorld, framework: RecordingFramework, socket: Path
    ) -> None:
        self.world = world
        self.framework = framework
        self._url = url
        self._socket = socket

    async def first(self, stop: asyncio.Event, patience: float) -> None:
        """The worker that is struck, as its process runs it."""
        async with self._worker("first") as worker:
            await stop.wait()
            await worker.stop(patience)

    async def followed(self) -> None:
        """Another goes on, and the promise holds."""
        async with self._worker("second"):
            await self.world.over()

    async def is_running(self) -> bool:
        return self.framework.running["it"] > 0

    def _worker(self, name: str) -> Any:
        traits = Traits(name, pace=STEADY)
        return a_worker(self._url, self.world.request_id, self._socket, traits=traits)


@asynccontextmanager
async def place_of(
    server: QueueServer, request: dict[str, Any], ack_wait: float = ACK_WAIT_SECONDS
) -> AsyncIterator[Place]:
    async with (
        new_world(server, ack_wait=ack_wait) as world,
        recording(world.executions) as (framework, socket),
    ):
        await world.submit("it", **request)
        yield Place(server.admin_url, world, framework, socket)


@pytest.mark.parametrize("story", STORIES)
async def test_the_promise_holds_wherever_the_worker_dies(
    queue_server: QueueServer, story: str
) -> None:
    async def killed(at: int, moment: Moment) -> MortalProgram:
        program = MortalProgram(INVOCATION, at, moment)
        async with (
            place_of(queue_server, STORIES[story]) as place,
            program.running(place.first(asyncio.Event(), PATIENT)),
        ):
            await first_of(program.struck.wait(), eventually(place.world.nothing_is_queued))
            await place.followed()
        return program

    await at_every_wait(killed)


@pytest.mark.parametrize("story", ATTEMPTS)
async def test_no_attempt_is_lost_wherever_the_worker_is_told_to_end(
    queue_server: QueueServer, story: str
) -> None:
    async def drained(at: int, moment: Moment) -> MortalProgram:
        async with place_of(queue_server, STORIES[story], UNHURRIED_SECONDS) as place:
            idle = eventually(place.world.nothing_is_queued)
            program = await told_to_end(place, at, moment, PATIENT, idle)
            await require_nothing_runs(place.world)
            await place.followed()
            record, _ = await place.world.read("it")
            assert (record.state, record.attempts) == (State.SUCCEEDED, ATTEMPTS[story])
        return program

    await at_every_wait(drained)


async def test_an_attempt_is_given_back_wherever_the_worker_has_no_time_for_it(
    queue_server: QueueServer,
) -> None:
    async def hurried(at: int, moment: Moment) -> MortalProgram:
        waiting = {"attributes": {"wait": True}}
        async with place_of(queue_server, waiting, UNHURRIED_SECONDS) as place:
            program = await told_to_end(place, at, moment, 0, eventually(place.is_running))
            await require_nothing_runs(place.world)
            place.framework.let_go.set()
            await place.followed()
            record, _ = await place.world.read("it")
            assert (record.state, record.worker) == (State.SUCCEEDED, "second")
        return program

    await at_every_wait(hurried)


async def told_to_end(
    place: Place, at: int, moment: Moment, patience: float, otherwise: Coroutine[Any, Any, object]
) -> MortalProgram:
    """The first worker, until it has ended because of a signal: at its wait, or after all."""
    stop = asyncio.Event()
    program = MortalProgram(INVOCATION, at, moment, strike=stop.set)
    async with program.running(place.first(stop, patience)) as process:
        await first_of(program.struck.wait(), otherwise)
        stop.set()
        await asyncio.wait([process])
    return program


async def require_nothing_runs(world: FunctionWorld) -> None:
    """What is not over waits for another worker, and not for the end of its message's ack wait."""
    record, _ = await world.read("it")
    assert record.is_final or record.state is State.QUEUED, record
