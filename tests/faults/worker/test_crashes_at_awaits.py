"""Crashes and stops of a worker at every single await of an invocation."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack.cluster.nats_server import NATSServer
from serverless.worker.consume.puller import Puller
from shared.invocation.state import InvocationState
from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, crash_at_every_await
from tests.support.queue.function_harness import (
    ACK_WAIT_SECONDS,
    LONG_ACK_WAIT_SECONDS,
    FunctionHarness,
    new_function_harness,
)
from tests.support.queue.in_process_worker import NO_HEARTBEAT_INTERVALS, WorkerOptions, run_worker
from tests.support.queue.invocation_scenarios import SCENARIOS
from tests.support.queue.recording_framework import RecordingFramework, serve_recording_framework
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import wait_for_first

INVOCATION: Final = Puller._process
PATIENT: Final = 60.0
ATTEMPTS: Final = {"succeeds": 1, "is retried": 2}


class SingleInvocation:
    """One function with one invocation, and workers that start and stop."""

    def __init__(
        self, url: str, world: FunctionHarness, framework: RecordingFramework, socket: Path
    ) -> None:
        self.world = world
        self.framework = framework
        self._url = url
        self._socket = socket

    async def first(self, stop: asyncio.Event, patience: float) -> None:
        """Run the worker that gets the fault, as its process runs it."""
        async with self._worker("first") as worker:
            await stop.wait()
            await worker.stop(patience)

    async def followed(self) -> None:
        """Run another worker until the invocation is finished and the guarantees hold."""
        async with self._worker("second"):
            await self.world.wait_finished()

    async def is_running(self) -> bool:
        return self.framework.running_by_invocation["it"] > 0

    def _worker(self, name: str) -> Any:
        traits = WorkerOptions(name, intervals=NO_HEARTBEAT_INTERVALS)
        return run_worker(self._url, self.world.function_name, self._socket, options=traits)


@asynccontextmanager
async def place_of(
    server: NATSServer, request: dict[str, Any], ack_wait: float = ACK_WAIT_SECONDS
) -> AsyncIterator[SingleInvocation]:
    async with (
        new_function_harness(server, ack_wait=ack_wait) as world,
        serve_recording_framework(world.executions) as (framework, socket),
    ):
        await world.submit("it", **request)
        yield SingleInvocation(server.admin_url, world, framework, socket)


@pytest.mark.parametrize("story", SCENARIOS)
async def test_an_invocation_is_finished_once_although_the_worker_crashes_at_any_await(
    nats_server: NATSServer, story: str
) -> None:
    async def killed(at: int, moment: AwaitSide) -> CrashingProgram:
        program = CrashingProgram(INVOCATION, at, moment)
        async with (
            place_of(nats_server, SCENARIOS[story]) as place,
            program.run(place.first(asyncio.Event(), PATIENT)),
        ):
            await wait_for_first(
                program.was_injected.wait(), eventually(place.world.is_queue_empty)
            )
            await place.followed()
        return program

    await crash_at_every_await(killed)


@pytest.mark.parametrize("story", ATTEMPTS)
async def test_no_attempt_is_lost_although_the_worker_stops_at_any_await(
    nats_server: NATSServer, story: str
) -> None:
    async def drained(at: int, moment: AwaitSide) -> CrashingProgram:
        async with place_of(nats_server, SCENARIOS[story], LONG_ACK_WAIT_SECONDS) as place:
            idle = eventually(place.world.is_queue_empty)
            program = await told_to_end(place, at, moment, PATIENT, idle)
            await require_nothing_runs(place.world)
            await place.followed()
            record, _ = await place.world.read_record("it")
            assert (record.state, record.attempts) == (InvocationState.SUCCEEDED, ATTEMPTS[story])
        return program

    await crash_at_every_await(drained)


async def test_an_attempt_is_released_when_the_worker_is_stopped_without_grace(
    nats_server: NATSServer,
) -> None:
    async def hurried(at: int, moment: AwaitSide) -> CrashingProgram:
        waiting = {"attributes": {"wait": True}}
        async with place_of(nats_server, waiting, LONG_ACK_WAIT_SECONDS) as place:
            program = await told_to_end(place, at, moment, 0, eventually(place.is_running))
            await require_nothing_runs(place.world)
            place.framework.release.set()
            await place.followed()
            record, _ = await place.world.read_record("it")
            assert (record.state, record.worker) == (InvocationState.SUCCEEDED, "second")
        return program

    await crash_at_every_await(hurried)


async def told_to_end(
    place: SingleInvocation,
    at: int,
    moment: AwaitSide,
    patience: float,
    otherwise: Coroutine[Any, Any, object],
) -> CrashingProgram:
    """Run the first worker until it has ended because of a signal, at its await or later."""
    stop = asyncio.Event()
    program = CrashingProgram(INVOCATION, at, moment, inject=stop.set)
    async with program.run(place.first(stop, patience)) as process:
        await wait_for_first(program.was_injected.wait(), otherwise)
        stop.set()
        await asyncio.wait([process])
    return program


async def require_nothing_runs(world: FunctionHarness) -> None:
    """Require that an unfinished invocation is ready for another worker.

    It must not wait for the end of its message's ack wait.
    """
    record, _ = await world.read_record("it")
    assert record.is_final or record.state is InvocationState.QUEUED, record
