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

MINUTE_SECONDS: Final = 60.0
# Long enough for a slow machine: only a worker without a connection exceeds it.
ACK_WAIT_OF_OUTAGE_SECONDS: Final = 8.0
INVOCATIONS: Final = 30


@pytest.fixture
async def harness(nats_server: NATSServer) -> AsyncIterator[FunctionHarness]:
    async with new_function_harness(nats_server) as harness:
        yield harness


@pytest.fixture
async def proxy(nats_server: NATSServer) -> AsyncIterator[TCPProxy]:
    async with TCPProxy(HOST, port_of(nats_server)).serve() as proxy:
        yield proxy


def port_of(server: NATSServer) -> int:
    return int(server.url.rpartition(":")[2])


def proxied_url(proxy: TCPProxy, server: NATSServer) -> str:
    return server.admin_url.replace(f":{port_of(server)}", f":{proxy.port}")


async def submit_invocations(harness: FunctionHarness, randomness: random.Random) -> None:
    for number in range(INVOCATIONS):
        attributes = {
            "sleepSeconds": randomness.uniform(0, 0.5),
            "failAttempts": randomness.choice((0, 0, 0, 1)),
        }
        await harness.submit(f"n{number}", attributes=attributes, max_attempts=10)


async def has_started_times(framework: RecordingFramework, invocation_id: str, times: int) -> bool:
    ids = [execution.invocation_id for execution in framework.executions]
    return ids.count(invocation_id) == times


async def test_a_worker_that_lost_its_connection_for_longer_than_the_ack_wait_changes_nothing(
    nats_server: NATSServer, proxy: TCPProxy
) -> None:
    async with (
        new_function_harness(nats_server, ack_wait=ACK_WAIT_OF_OUTAGE_SECONDS) as harness,
        serve_recording_framework(harness.executions) as (late, late_socket),
        serve_recording_framework(harness.executions) as (next_, socket),
        run_worker(
            proxied_url(proxy, nats_server),
            harness.function_name,
            late_socket,
            options=WorkerOptions("late"),
        ),
    ):
        await harness.submit("it", attributes={"wait": True})
        await eventually(lambda: has_started_times(late, "it", 1))
        await eventually(lambda: harness.worker_report("late"), is_running(1))
        proxy.stall()
        next_.release.set()
        async with run_worker(
            nats_server.admin_url, harness.function_name, socket, options=WorkerOptions("next")
        ):
            before = await harness.wait_finished()
            late.release.set()  # the worker has its result now, but cannot publish it
            await harness.redrive("it")
            await harness.wait_finished()
            proxy.clear_faults()
            await eventually(lambda: harness.worker_report("late"), is_running(0))
            after = await harness.wait_finished()
    outcomes = {
        (outcome.run, outcome.state, outcome.worker, outcome.attempts) for outcome in after.outcomes
    }
    assert outcomes == {
        (1, InvocationState.SUCCEEDED, "next", 2),
        (2, InvocationState.SUCCEEDED, "next", 1),
    }
    assert len(before.outcomes) == 1


async def test_a_message_that_is_redelivered_to_the_same_worker_is_not_another_attempt(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    """Deliver more often than there are attempts: without heartbeats each ack wait ends."""
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
        snapshot = await harness.wait_finished()
    (outcome,) = snapshot.outcomes
    assert (outcome.state, outcome.attempts) == (InvocationState.SUCCEEDED, 1)


@pytest.mark.parametrize("outage", ["killed", "paused"])
async def test_invocations_are_finished_although_the_queue_has_an_outage(
    nats_server: NATSServer, harness: FunctionHarness, outage: str
) -> None:
    await submit_invocations(harness, random.Random(1))
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        await eventually(lambda: immediate(len(framework.executions) > INVOCATIONS // 3))
        if outage == "killed":
            await nats_server.process.kill()
            nats_server.process.start()
            await nats_server.wait_ready()
        else:
            await nats_server.process.pause()
            await asyncio.sleep(ACK_WAIT_SECONDS * 1.5)  # the outage itself, not a wait for its end
            nats_server.process.resume()
        await harness.wait_finished()


async def test_invocations_are_finished_by_workers_whose_clocks_differ_by_minutes(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await submit_invocations(harness, random.Random(2))
    await harness.submit("short-lived", ttl_seconds=30)
    async with serve_recording_framework(harness.executions) as (_, socket):
        fast = WorkerOptions("fast", clock=ShiftedClock(MINUTE_SECONDS))
        slow = WorkerOptions("slow", clock=ShiftedClock(-MINUTE_SECONDS))
        url, name = nats_server.admin_url, harness.function_name
        async with (
            run_worker(url, name, socket, concurrency=2, options=fast),
            run_worker(url, name, socket, concurrency=2, options=slow),
        ):
            await harness.wait_finished()


async def test_an_invocation_that_is_cancelled_while_it_ends_has_one_outcome(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    (seed,) = draw_seeds("cancellations")
    randomness = random.Random(seed)
    for number in range(INVOCATIONS):
        attributes = {"sleepSeconds": randomness.uniform(0, 0.05)}
        await harness.submit(f"n{number}", attributes=attributes)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        for number in range(INVOCATIONS):
            await eventually(lambda: is_started(harness, f"n{number}"))  # noqa: B023 - awaited here
            await harness.cancel(f"n{number}", notify_worker=randomness.random() < 0.5)
        snapshot = await harness.wait_finished()
    assert {outcome.state for outcome in snapshot.outcomes} <= {
        InvocationState.SUCCEEDED,
        InvocationState.CANCELLED,
    }, seed


@pytest.mark.parametrize("seed", draw_seeds("faults", 2))
async def test_invocations_run_exactly_once_in_random_fault_schedules(
    nats_server: NATSServer, harness: FunctionHarness, proxy: TCPProxy, seed: int
) -> None:
    randomness = random.Random(seed)
    await submit_invocations(harness, randomness)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        asyncio.TaskGroup() as group,
    ):
        faults = RandomFaults(harness, proxy, nats_server, randomness)
        names = [f"worker-{number}" for number in range(3)]
        tasks = [group.create_task(faults.run_workers(name, socket)) for name in names]
        with closing(faults):
            for _ in range(8):
                await faults.inject()
            proxy.clear_faults()
            await harness.wait_finished()
        for task in tasks:
            task.cancel()


class RandomFaults:
    """Workers that crash and restart, on a connection that is cut repeatedly."""

    def __init__(
        self,
        harness: FunctionHarness,
        proxy: TCPProxy,
        server: NATSServer,
        randomness: random.Random,
    ) -> None:
        self._harness = harness
        self._proxy = proxy
        self._url = proxied_url(proxy, server)
        self._randomness = randomness
        self._is_closed = False
        self._queues: dict[str, FaultyWorkerJetStream] = {}

    def close(self) -> None:
        """Stop restarting workers."""
        self._is_closed = True

    async def run_workers(self, name: str, socket: Path) -> None:
        """Run one worker after the other, until closed and cancelled."""
        for number in itertools.takewhile(lambda _: not self._is_closed, itertools.count()):
            queue = FaultyWorkerJetStream(QueueNames(), 0, QueueFault.NONE)
            self._queues[name] = queue
            options = WorkerOptions(f"{name}-{number}", queue.connect_to)
            try:
                async with run_worker(
                    self._url, self._harness.function_name, socket, options=options
                ):
                    await asyncio.Event().wait()
            except* WorkerKilled:
                pass

    async def inject(self) -> None:
        """Inject one fault, and wait a while in which its effect can show."""
        faults = [
            self._kill,
            self._kill,
            self._proxy.cut,
            self._proxy.stall,
            self._proxy.clear_faults,
        ]
        self._randomness.choice(faults)()
        await asyncio.sleep(self._randomness.uniform(0, 0.7))

    def _kill(self) -> None:
        if self._queues:
            self._queues[self._randomness.choice(sorted(self._queues))].kill()


async def is_started(harness: FunctionHarness, invocation_id: str) -> bool:
    record, _ = await harness.read_record(invocation_id)
    return record.state is not InvocationState.QUEUED
