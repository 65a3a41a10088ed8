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
STOP_SECONDS: Final = 60.0
ATTEMPTS: Final = {"succeeds": 1, "is retried": 2}


class SingleInvocation:
    """One function with one invocation, and workers that start and stop."""

    def __init__(
        self, url: str, harness: FunctionHarness, framework: RecordingFramework, socket: Path
    ) -> None:
        self.harness = harness
        self.framework = framework
        self._url = url
        self._socket = socket

    async def run_first(self, stop: asyncio.Event, timeout_seconds: float) -> None:
        """Run the worker that gets the fault, as its process runs it."""
        async with self._worker("first") as worker:
            await stop.wait()
            await worker.stop(timeout_seconds)

    async def finish(self) -> None:
        """Run another worker until the invocation is finished and the guarantees hold."""
        async with self._worker("second"):
            await self.harness.wait_finished()

    async def is_running(self) -> bool:
        return self.framework.running_by_invocation["it"] > 0

    def _worker(self, name: str) -> Any:
        options = WorkerOptions(name, intervals=NO_HEARTBEAT_INTERVALS)
        return run_worker(self._url, self.harness.function_name, self._socket, options=options)


@asynccontextmanager
async def single_invocation(
    server: NATSServer, request: dict[str, Any], ack_wait: float = ACK_WAIT_SECONDS
) -> AsyncIterator[SingleInvocation]:
    async with (
        new_function_harness(server, ack_wait=ack_wait) as harness,
        serve_recording_framework(harness.executions) as (framework, socket),
    ):
        await harness.submit("it", **request)
        yield SingleInvocation(server.admin_url, harness, framework, socket)


@pytest.mark.parametrize("scenario_name", SCENARIOS)
async def test_an_invocation_is_finished_once_although_the_worker_crashes_at_any_await(
    nats_server: NATSServer, scenario_name: str
) -> None:
    async def crash(at: int, side: AwaitSide) -> CrashingProgram:
        program = CrashingProgram(INVOCATION, at, side)
        async with (
            single_invocation(nats_server, SCENARIOS[scenario_name]) as invocation,
            program.run(invocation.run_first(asyncio.Event(), STOP_SECONDS)),
        ):
            await wait_for_first(
                program.was_injected.wait(), eventually(invocation.harness.is_queue_empty)
            )
            await invocation.finish()
        return program

    await crash_at_every_await(crash)


@pytest.mark.parametrize("scenario_name", ATTEMPTS)
async def test_no_attempt_is_lost_although_the_worker_stops_at_any_await(
    nats_server: NATSServer, scenario_name: str
) -> None:
    async def drain(at: int, side: AwaitSide) -> CrashingProgram:
        scenario = SCENARIOS[scenario_name]
        async with single_invocation(nats_server, scenario, LONG_ACK_WAIT_SECONDS) as invocation:
            idle = eventually(invocation.harness.is_queue_empty)
            program = await stop_worker(invocation, at, side, STOP_SECONDS, idle)
            await require_nothing_runs(invocation.harness)
            await invocation.finish()
            record, _ = await invocation.harness.read_record("it")
            assert (record.state, record.attempts) == (
                InvocationState.SUCCEEDED,
                ATTEMPTS[scenario_name],
            )
        return program

    await crash_at_every_await(drain)


async def test_an_attempt_is_released_when_the_worker_is_stopped_without_grace(
    nats_server: NATSServer,
) -> None:
    async def abandon(at: int, side: AwaitSide) -> CrashingProgram:
        waiting = {"attributes": {"wait": True}}
        async with single_invocation(nats_server, waiting, LONG_ACK_WAIT_SECONDS) as invocation:
            running = eventually(invocation.is_running)
            program = await stop_worker(invocation, at, side, 0, running)
            await require_nothing_runs(invocation.harness)
            invocation.framework.release.set()
            await invocation.finish()
            record, _ = await invocation.harness.read_record("it")
            assert (record.state, record.worker) == (InvocationState.SUCCEEDED, "second")
        return program

    await crash_at_every_await(abandon)


async def stop_worker(
    invocation: SingleInvocation,
    at: int,
    side: AwaitSide,
    timeout_seconds: float,
    otherwise: Coroutine[Any, Any, object],
) -> CrashingProgram:
    """Run the first worker; stop it at that await, or after `otherwise`."""
    stop = asyncio.Event()
    program = CrashingProgram(INVOCATION, at, side, inject=stop.set)
    async with program.run(invocation.run_first(stop, timeout_seconds)) as process:
        await wait_for_first(program.was_injected.wait(), otherwise)
        stop.set()
        await asyncio.wait([process])
    return program


async def require_nothing_runs(harness: FunctionHarness) -> None:
    """Require that an unfinished invocation is ready for another worker.

    It must not wait for the end of its message's ack wait.
    """
    record, _ = await harness.read_record("it")
    assert record.is_final or record.state is InvocationState.QUEUED, record
