"""The queue goes away, comes back, and is cut off from some: late workers change nothing."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

import pytest

from hack.cluster.nats_server import QueueServer
from hack.cluster.ports import HOST
from shared.invocation.queue_names import QueueNames
from shared.invocation.state import State
from tests.runner.seeds import seeds
from tests.support.clocks.skewed_clock import SkewedClock
from tests.support.faults.faulty_worker_jetstream import Fault, FaultyQueue, Killed
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.queue.function_harness import ACK_WAIT_SECONDS, FunctionWorld, new_world, runs
from tests.support.queue.in_process_worker import STEADY, Traits, a_worker
from tests.support.queue.recording_framework import RecordingFramework, recording
from tests.support.wait.eventually import eventually

T = TypeVar("T")

MINUTE: Final = 60.0
# Long enough for a slow machine, on which only who is cut off shall lose a message.
PATIENT_ACK_WAIT: Final = 8.0
COUNT: Final = 30


@pytest.fixture
async def world(queue_server: QueueServer) -> AsyncIterator[FunctionWorld]:
    async with new_world(queue_server) as made:
        yield made


@pytest.fixture
async def proxy(queue_server: QueueServer) -> AsyncIterator[TCPProxy]:
    async with TCPProxy(HOST, port_of(queue_server)).serving() as serving:
        yield serving


def port_of(server: QueueServer) -> int:
    return int(server.url.rpartition(":")[2])


def through(proxy: TCPProxy, server: QueueServer) -> str:
    return server.admin_url.replace(f":{port_of(server)}", f":{proxy.port}")


async def submit_some(world: FunctionWorld, randomness: random.Random) -> None:
    for number in range(COUNT):
        told = {
            "sleepSeconds": randomness.uniform(0, 0.5),
            "failAttempts": randomness.choice((0, 0, 0, 1)),
        }
        await world.submit(f"n{number}", attributes=told, max_attempts=10)


async def is_running(framework: RecordingFramework, invocation_id: str, times: int) -> bool:
    began = [each for each in framework.executions if each.invocation_id == invocation_id]
    return len(began) == times


async def test_a_worker_that_was_cut_off_for_longer_than_the_ack_wait_changes_nothing(
    queue_server: QueueServer, proxy: TCPProxy
) -> None:
    async with (
        new_world(queue_server, ack_wait=PATIENT_ACK_WAIT) as world,
        recording(world.executions) as (late, late_socket),
        recording(world.executions) as (next_, socket),
        a_worker(
            through(proxy, queue_server), world.request_id, late_socket, traits=Traits("late")
        ),
    ):
        await world.submit("it", attributes={"wait": True})
        await eventually(lambda: is_running(late, "it", 1))
        await eventually(lambda: world.report("late"), runs(1))
        proxy.stall()
        next_.let_go.set()
        async with a_worker(
            queue_server.admin_url, world.request_id, socket, traits=Traits("next")
        ):
            before = await world.over()
            late.let_go.set()  # it has its answer now, and cannot tell anybody
            await world.redrive("it")
            await world.over()
            proxy.heal()
            await eventually(lambda: world.report("late"), runs(0))
            after = await world.over()
    outcomes = {(each.run, each.state, each.worker, each.attempts) for each in after.outcomes}
    assert outcomes == {(1, State.SUCCEEDED, "next", 2), (2, State.SUCCEEDED, "next", 1)}
    assert len(before.outcomes) == 1


async def test_a_message_that_comes_again_to_the_same_worker_is_no_further_attempt(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    """Three times, as often as it may be tried; without heartbeats its ack wait ends each time."""
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(
            queue_server.admin_url, world.request_id, socket, traits=Traits("slow", pace=STEADY)
        ),
    ):
        await world.submit("it", attributes={"wait": True}, max_attempts=3)
        await eventually(world.deliveries, lambda times: times > 3)
        framework.let_go.set()
        seen = await world.over()
    (outcome,) = seen.outcomes
    assert (outcome.state, outcome.attempts) == (State.SUCCEEDED, 1)


@pytest.mark.parametrize("outage", ["killed", "paused"])
async def test_the_queue_may_be_away_while_invocations_run(
    queue_server: QueueServer, world: FunctionWorld, outage: str
) -> None:
    await submit_some(world, random.Random(1))
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        await eventually(lambda: now(len(framework.executions) > COUNT // 3))
        if outage == "killed":
            await queue_server.process.kill()
            queue_server.process.start()
            await queue_server.ready()
        else:
            queue_server.process.pause()
            await asyncio.sleep(ACK_WAIT_SECONDS * 1.5)  # the outage itself, not a wait for it
            queue_server.process.resume()
        await world.over()


async def test_clocks_may_be_wrong_by_a_minute(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await submit_some(world, random.Random(2))
    await world.submit("short-lived", ttl_seconds=30)
    async with recording(world.executions) as (_, socket):
        fast = Traits("fast", clock=SkewedClock(MINUTE))
        slow = Traits("slow", clock=SkewedClock(-MINUTE))
        address, request_id = queue_server.admin_url, world.request_id
        async with (
            a_worker(address, request_id, socket, concurrency=2, traits=fast),
            a_worker(address, request_id, socket, concurrency=2, traits=slow),
        ):
            await world.over()


async def test_cancelling_may_race_with_the_end(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    (seed,) = seeds("cancellations")
    randomness = random.Random(seed)
    for number in range(COUNT):
        told = {"sleepSeconds": randomness.uniform(0, 0.05)}
        await world.submit(f"n{number}", attributes=told)
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        for number in range(COUNT):
            await eventually(lambda: has_begun(world, f"n{number}"))  # noqa: B023 - awaited here
            await world.cancel(f"n{number}", is_nudged=randomness.random() < 0.5)
        seen = await world.over()
    assert {each.state for each in seen.outcomes} <= {State.SUCCEEDED, State.CANCELLED}, seed


@pytest.mark.parametrize("seed", seeds("faults", 2))
async def test_any_schedule_of_faults_keeps_the_promise(
    queue_server: QueueServer, world: FunctionWorld, proxy: TCPProxy, seed: int
) -> None:
    randomness = random.Random(seed)
    await submit_some(world, randomness)
    async with recording(world.executions) as (_, socket), asyncio.TaskGroup() as group:
        chaos = Chaos(world, proxy, queue_server, randomness)
        lives = [group.create_task(chaos.lives(f"worker-{number}", socket)) for number in range(3)]
        with closing(chaos):
            for _ in range(8):
                await chaos.strike()
            proxy.heal()
            await world.over()
        for life in lives:
            life.cancel()


class Chaos:
    """Workers that die and are born again, on a line that somebody keeps cutting."""

    def __init__(
        self,
        world: FunctionWorld,
        proxy: TCPProxy,
        server: QueueServer,
        randomness: random.Random,
    ) -> None:
        self._world = world
        self._proxy = proxy
        self._url = through(proxy, server)
        self._randomness = randomness
        self._is_closed = False
        self._queues: dict[str, FaultyQueue] = {}

    def close(self) -> None:
        """Let no worker be born any more."""
        self._is_closed = True

    async def lives(self, name: str, socket: Path) -> None:
        """One life after the other, until closed and cancelled."""
        for life in itertools.takewhile(lambda _: not self._is_closed, itertools.count()):
            queue = FaultyQueue(QueueNames(), 0, Fault.NONE)
            self._queues[name] = queue
            traits = Traits(f"{name}-{life}", queue)
            try:
                async with a_worker(self._url, self._world.request_id, socket, traits=traits):
                    await asyncio.Event().wait()
            except* Killed:
                pass

    async def strike(self) -> None:
        """Do one harm, and let some time go by in which it can show."""
        harms = [self._kill, self._kill, self._proxy.cut, self._proxy.stall, self._proxy.heal]
        self._randomness.choice(harms)()
        await asyncio.sleep(self._randomness.uniform(0, 0.7))

    def _kill(self) -> None:
        if self._queues:
            self._queues[self._randomness.choice(sorted(self._queues))].kill()


async def has_begun(world: FunctionWorld, invocation_id: str) -> bool:
    record, _ = await world.read(invocation_id)
    return record.state is not State.QUEUED


async def now(value: T) -> T:
    return value
