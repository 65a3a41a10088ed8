"""Outages and partitions of the queue: late workers change nothing."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from hack.cluster.nats_server import NATSServer
from hack.cluster.ports import HOST
from shared.invocation.queue_names import QueueNames
from shared.invocation.state import InvocationState
from tests.runner.seeds import draw_seeds
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.faults.faulty_worker_jetstream import (
    FaultyWorkerJetStream,
    QueueFault,
    WorkerKilled,
)
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.queue.function_harness import (
    ACK_WAIT_SECONDS,
    FunctionHarness,
    is_running,
    new_function_harness,
)
from tests.support.queue.in_process_worker import NO_HEARTBEAT_INTERVALS, WorkerOptions, run_worker
from tests.support.queue.recording_framework import RecordingFramework, serve_recording_framework
from tests.support.wait.eventually import eventually, immediate

MINUTE: Final = 60.0
# An ack wait long enough for a slow machine: only a worker that is cut off loses a message.
PATIENT_ACK_WAIT: Final = 8.0
COUNT: Final = 30


@pytest.fixture
async def harness(nats_server: NATSServer) -> AsyncIterator[FunctionHarness]:
    async with new_function_harness(nats_server) as made:
        yield made


@pytest.fixture
async def proxy(nats_server: NATSServer) -> AsyncIterator[TCPProxy]:
    async with TCPProxy(HOST, port_of(nats_server)).serve() as serving:
        yield serving


def port_of(server: NATSServer) -> int:
    return int(server.url.rpartition(":")[2])


def through(proxy: TCPProxy, server: NATSServer) -> str:
    return server.admin_url.replace(f":{port_of(server)}", f":{proxy.port}")


async def submit_some(world: FunctionHarness, randomness: random.Random) -> None:
    for number in range(COUNT):
        told = {
            "sleepSeconds": randomness.uniform(0, 0.5),
            "failAttempts": randomness.choice((0, 0, 0, 1)),
        }
        await world.submit(f"n{number}", attributes=told, max_attempts=10)


async def has_started_times(framework: RecordingFramework, invocation_id: str, times: int) -> bool:
    began = [each for each in framework.executions if each.invocation_id == invocation_id]
    return len(began) == times


async def test_a_worker_that_was_cut_off_for_longer_than_the_ack_wait_changes_nothing(
    nats_server: NATSServer, proxy: TCPProxy
) -> None:
    async with (
        new_function_harness(nats_server, ack_wait=PATIENT_ACK_WAIT) as world,
        serve_recording_framework(world.executions) as (late, late_socket),
        serve_recording_framework(world.executions) as (next_, socket),
        run_worker(
            through(proxy, nats_server),
            world.function_name,
            late_socket,
            options=WorkerOptions("late"),
        ),
    ):
        await world.submit("it", attributes={"wait": True})
        await eventually(lambda: has_started_times(late, "it", 1))
        await eventually(lambda: world.worker_report("late"), is_running(1))
        proxy.stall()
        next_.release.set()
        async with run_worker(
            nats_server.admin_url, world.function_name, socket, options=WorkerOptions("next")
        ):
            before = await world.wait_finished()
            late.release.set()  # the worker has its answer now, but cannot publish it
            await world.redrive("it")
            await world.wait_finished()
            proxy.clear_faults()
            await eventually(lambda: world.worker_report("late"), is_running(0))
            after = await world.wait_finished()
    outcomes = {(each.run, each.state, each.worker, each.attempts) for each in after.outcomes}
    assert outcomes == {
        (1, InvocationState.SUCCEEDED, "next", 2),
        (2, InvocationState.SUCCEEDED, "next", 1),
    }
    assert len(before.outcomes) == 1


async def test_a_message_that_comes_again_to_the_same_worker_is_no_further_attempt(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    """Deliver three times, the maximum of attempts.

    Without heartbeats the ack wait ends each time.
    """
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(
            nats_server.admin_url,
            harness.function_name,
            socket,
            options=WorkerOptions("slow", intervals=NO_HEARTBEAT_INTERVALS),
        ),
    ):
        await harness.submit("it", attributes={"wait": True}, max_attempts=3)
        await eventually(harness.delivery_count, lambda times: times > 3)
        framework.release.set()
        seen = await harness.wait_finished()
    (outcome,) = seen.outcomes
    assert (outcome.state, outcome.attempts) == (InvocationState.SUCCEEDED, 1)


@pytest.mark.parametrize("outage", ["killed", "paused"])
async def test_the_queue_may_be_away_while_invocations_run(
    nats_server: NATSServer, harness: FunctionHarness, outage: str
) -> None:
    await submit_some(harness, random.Random(1))
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        await eventually(lambda: immediate(len(framework.executions) > COUNT // 3))
        if outage == "killed":
            await nats_server.process.kill()
            nats_server.process.start()
            await nats_server.wait_ready()
        else:
            nats_server.process.pause()
            await asyncio.sleep(ACK_WAIT_SECONDS * 1.5)  # the outage itself, not a wait for its end
            nats_server.process.resume()
        await harness.wait_finished()


async def test_clocks_may_be_wrong_by_a_minute(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await submit_some(harness, random.Random(2))
    await harness.submit("short-lived", ttl_seconds=30)
    async with serve_recording_framework(harness.executions) as (_, socket):
        fast = WorkerOptions("fast", clock=ShiftedClock(MINUTE))
        slow = WorkerOptions("slow", clock=ShiftedClock(-MINUTE))
        address, request_id = nats_server.admin_url, harness.function_name
        async with (
            run_worker(address, request_id, socket, concurrency=2, options=fast),
            run_worker(address, request_id, socket, concurrency=2, options=slow),
        ):
            await harness.wait_finished()


async def test_cancelling_may_race_with_the_end(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    (seed,) = draw_seeds("cancellations")
    randomness = random.Random(seed)
    for number in range(COUNT):
        told = {"sleepSeconds": randomness.uniform(0, 0.05)}
        await harness.submit(f"n{number}", attributes=told)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        for number in range(COUNT):
            await eventually(lambda: has_begun(harness, f"n{number}"))  # noqa: B023 - awaited here
            await harness.cancel(f"n{number}", notify_worker=randomness.random() < 0.5)
        seen = await harness.wait_finished()
    assert {each.state for each in seen.outcomes} <= {
        InvocationState.SUCCEEDED,
        InvocationState.CANCELLED,
    }, seed


@pytest.mark.parametrize("seed", draw_seeds("faults", 2))
async def test_invocations_run_exactly_once_in_random_fault_schedules(
    nats_server: NATSServer, harness: FunctionHarness, proxy: TCPProxy, seed: int
) -> None:
    randomness = random.Random(seed)
    await submit_some(harness, randomness)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        asyncio.TaskGroup() as group,
    ):
        chaos = Chaos(harness, proxy, nats_server, randomness)
        lives = [group.create_task(chaos.lives(f"worker-{number}", socket)) for number in range(3)]
        with closing(chaos):
            for _ in range(8):
                await chaos.strike()
            proxy.clear_faults()
            await harness.wait_finished()
        for life in lives:
            life.cancel()


class Chaos:
    """Workers that crash and restart, on a connection that is cut again and again."""

    def __init__(
        self,
        world: FunctionHarness,
        proxy: TCPProxy,
        server: NATSServer,
        randomness: random.Random,
    ) -> None:
        self._world = world
        self._proxy = proxy
        self._url = through(proxy, server)
        self._randomness = randomness
        self._is_closed = False
        self._queues: dict[str, FaultyWorkerJetStream] = {}

    def close(self) -> None:
        """Stop restarting workers."""
        self._is_closed = True

    async def lives(self, name: str, socket: Path) -> None:
        """Run one worker after the other, until closed and cancelled."""
        for life in itertools.takewhile(lambda _: not self._is_closed, itertools.count()):
            queue = FaultyWorkerJetStream(QueueNames(), 0, QueueFault.NONE)
            self._queues[name] = queue
            traits = WorkerOptions(f"{name}-{life}", queue.connect_to)
            try:
                async with run_worker(self._url, self._world.function_name, socket, options=traits):
                    await asyncio.Event().wait()
            except* WorkerKilled:
                pass

    async def strike(self) -> None:
        """Inject one fault, and wait a while in which its effect can show."""
        harms = [
            self._kill,
            self._kill,
            self._proxy.cut,
            self._proxy.stall,
            self._proxy.clear_faults,
        ]
        self._randomness.choice(harms)()
        await asyncio.sleep(self._randomness.uniform(0, 0.7))

    def _kill(self) -> None:
        if self._queues:
            self._queues[self._randomness.choice(sorted(self._queues))].kill()


async def has_begun(world: FunctionHarness, invocation_id: str) -> bool:
    record, _ = await world.read_record(invocation_id)
    return record.state is not InvocationState.QUEUED
