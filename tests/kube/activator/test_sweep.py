"""The sweep over real records: every case that nobody else can bring to its end."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nats_server import QueueServer
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.sweep.function_existence import Homes
from serverless.activator.sweep.invocation_store import Records
from serverless.activator.sweep.metrics import SettlingMetrics
from serverless.activator.sweep.settle import Settling
from serverless.activator.sweep.streams import Streams
from serverless.activator.sweep.sweep import Sweep
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStream
from shared.invocation import transition
from shared.invocation.record import Body, Request, Result, encode
from shared.invocation.state import FailureClass, State
from shared.invocation.streams import StreamLimits, streams
from tests.support.builders.config_maps import client_of
from tests.support.clocks.shifted_clock import ClockAhead
from tests.support.cluster.control_loops import following
from tests.support.cluster.isolated_installation import Site, new_site
from tests.support.faults.crashing_program import Moment, MortalProgram, mortality
from tests.support.queue.functions_client import (
    NAMES,
    PATIENCE_SECONDS,
    Functions,
    functions_of,
    now_ms,
)
from tests.support.queue.nats_server import new_queue
from tests.support.wait.first_of import first_of

# What has just been written has been quiet for long enough.
LATER = ClockAhead(31)
FN = "fn"


@dataclass(frozen=True)
class Swept:
    """A sweep that runs when it is told to, and how to make others."""

    functions: Functions
    registry: CollectorRegistry
    sweep: Sweep
    make: Callable[[JetStream], Sweep]

    async def round_of_another(self, connection: QueueConnection, ended: asyncio.Event) -> None:
        """A round in a process with its own connection."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(connection.run())
            await connection.synced()
            await group.create_task(self.make(JetStream(connection)).round())
            ended.set()
            keeping.cancel()


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[QueueServer]:
    async with new_queue(tmp_path / "queue") as server:
        yield server


@pytest.fixture
async def swept(installed: ControlPlane, queue: QueueServer) -> AsyncIterator[Swept]:
    async with (
        new_site(installed) as site,
        functions_of(site, queue) as functions,
        client_of(site.activator_kubeconfig) as client,
        asyncio.TaskGroup() as group,
    ):
        clock, where = LATER, site.namespaces.instance
        connection = QueueConnection(access(queue), "tests", clock)
        tasks = [group.create_task(connection.run())]
        made = Streams(connection, streams(NAMES, StreamLimits()), clock)
        tasks.append(group.create_task(made.run()))
        await made.synced()
        await site.create("functions", a_function(site))
        registry = CollectorRegistry()
        metrics = InformerMetrics(registry)
        informer = Informer(client, Scope(FUNCTIONS, where), metrics, clock, Random(7))
        counts = SettlingMetrics(registry)
        homes = Homes(Cache({where: informer}), client, where)

        def make(jetstream: JetStream) -> Sweep:
            records = Records(jetstream, NAMES)
            return Sweep(records, Settling(records, counts, clock), homes, clock)

        async with following([informer]):
            yield Swept(functions, registry, make(JetStream(connection)), make)
        for task in tasks:
            task.cancel()


def access(queue: QueueServer) -> QueueConfig:
    password_file = str(queue.password_file("activator"))
    return QueueConfig(url=queue.url, user="activator", password_file=password_file)


def a_function(site: Site) -> dict[str, object]:
    return {
        "apiVersion": FUNCTIONS.api_version,
        "kind": "Function",
        "metadata": {"name": FN},
        "spec": {"specName": "g1.1", "image": "example/fn:1"},
    }


async def test_open_records_without_a_message_are_queued_again(swept: Swept) -> None:
    functions = swept.functions
    lost = await functions.submit(FN, "lost", queued=False)
    queued = await functions.submit(FN, "queued")
    await functions.write(FN, "dead-worker", transition.begun(lost, "fn-1", 999, now_ms()))
    await functions.write(FN, "live-worker", transition.begun(lost, "fn-2", 999, now_ms()))
    redriven = transition.redriven(transition.cancelled(queued, now_ms()), now_ms())
    stale = await functions.queue(FN, "redriven", queued)
    await functions.write(FN, "redriven", redriven)
    await functions.report(FN, "fn-2", 1, now_ms())

    await swept.sweep.round()

    assert set(await functions.queued(FN)) == {"lost", "queued", "dead-worker", "redriven"}
    released = await functions.read(FN, "dead-worker")
    assert (released.state, released.attempts, released.worker) == (State.QUEUED, 1, "")
    assert (await functions.read(FN, "live-worker")).state is State.RUNNING
    assert await functions.read(FN, "queued") == queued
    subject = NAMES.call_subject(FN, "redriven")
    fresh = await functions.jetstream.get_last_msg(NAMES.invocations_stream, subject)
    assert (fresh.seq or 0) > stale
    assert await functions.told(FN) == []


async def test_records_that_nobody_can_finish_get_their_outcome(swept: Swept) -> None:
    functions = swept.functions
    overdue = await functions.submit(FN, "overdue", ttl_seconds=5)
    begun = transition.begun(overdue, "fn-1", 999, now_ms())
    await functions.write(FN, "cancelling", transition.cancelling(begun))
    await functions.submit(FN, "predecessors", function_uid="uid-of-nobody")
    await functions.submit("gone", "orphan", function_uid="uid-of-nobody")
    untold = transition.finished(begun, State.SUCCEEDED, Result(status_code=200), now_ms())
    await functions.write(FN, "untold", untold)
    await functions.write(FN, "namesakes", replace(untold, function_uid="uid-of-nobody"))
    await functions.queue(FN, "namesakes", overdue)

    await swept.sweep.round()

    ended = {
        "cancelling": State.CANCELLED,
        "namesakes": State.SUCCEEDED,
        "overdue": State.EXPIRED,
        "predecessors": State.CANCELLED,
        "untold": State.SUCCEEDED,
    }
    outcomes = {each.invocation_id: each for each in await functions.told(FN)}
    assert {name: each.state for name, each in outcomes.items()} == ended
    assert outcomes["predecessors"].result.failure_class == FailureClass.FUNCTION_DELETED
    for name, state in ended.items():
        record = await functions.read(FN, name)
        assert (record.state, record.published) == (state, True)
    assert finished(swept.registry, FN) == {State.CANCELLED: 2, State.EXPIRED: 1}
    orphan = await functions.read("gone", "orphan")
    assert (orphan.state, orphan.published) == (State.CANCELLED, True)
    assert await functions.queued("gone") == {}
    assert await functions.queued(FN) == {"namesakes": 1}  # by another function than its record


async def test_the_worker_of_a_run_that_is_settled_is_told_at_once(swept: Swept) -> None:
    functions = swept.functions
    heard = await functions.client.subscribe(NAMES.nudge_subject(FN))
    overdue = await functions.submit(FN, "waiting", ttl_seconds=5)
    await functions.write(FN, "running", transition.begun(overdue, "fn-1", 999, now_ms()))

    await swept.sweep.round()

    assert (await functions.read(FN, "running")).state is State.EXPIRED
    assert (await heard.next_msg(timeout=PATIENCE_SECONDS)).data == b"running"
    assert heard.pending_msgs == 0


async def test_a_record_under_an_odd_key_keeps_no_other_from_its_end(swept: Swept) -> None:
    functions = swept.functions
    sound = await functions.submit(FN, "lost", queued=False)
    for odd in (f"{FN}.too.deep", FN, f"{FN}.{'x' * 65}", "Fn.x"):
        await functions.jetstream.publish(NAMES.record_subject(odd), encode(sound))
    await functions.submit(FN, "overdue", ttl_seconds=5)

    await swept.sweep.round()

    assert (await functions.read(FN, "overdue")).state is State.EXPIRED
    assert await functions.queued(FN) == {"lost": 1}
    assert swept.sweep.oldest().keys() == {FN}


async def test_a_record_that_cannot_be_queued_keeps_no_other_from_its_end(swept: Swept) -> None:
    functions = swept.functions
    lost = await functions.submit(FN, "lost", queued=False)
    begun = transition.begun(lost, "fn-1", 999, now_ms())
    untold = transition.finished(begun, State.SUCCEEDED, Result(status_code=200), now_ms())
    await functions.write(FN, "untold", untold)
    config = (await functions.jetstream.stream_info(NAMES.invocations_stream)).config
    await functions.jetstream.update_stream(config, subjects=[NAMES.calls_of("other")])

    await swept.sweep.round()

    assert (await functions.read(FN, "untold")).published
    await functions.jetstream.update_stream(config)
    await swept.sweep.round()
    assert await functions.queued(FN) == {"lost": 1}


async def test_the_room_that_records_take_is_told(swept: Swept) -> None:
    await swept.functions.submit(FN, "small")
    await swept.sweep.round()
    before = swept.sweep.record_fullness
    large = Request(body=Body(inline=bytes(200_000)), ttl_seconds=3600)
    await swept.functions.write(FN, "large", transition.accepted(large, "uid", "", now_ms()))
    await swept.sweep.round()

    assert 0 < before < swept.sweep.record_fullness < 1


def finished(registry: CollectorRegistry, function: str) -> dict[str, float]:
    """How many invocations of a function are counted as settled, by outcome."""
    samples = (each for family in registry.collect() for each in family.samples)
    return {
        each.labels["outcome"]: each.value
        for each in samples
        if each.name == "gpuruntime_invocations_finished_total"
        and each.labels["function"] == function
    }


async def test_a_second_sweep_changes_nothing_and_tells_nothing_twice(swept: Swept) -> None:
    functions = swept.functions
    await functions.submit(FN, "overdue", ttl_seconds=5)
    await functions.submit(FN, "lost", queued=False)
    for _ in range(3):
        await swept.sweep.round()
    assert len(await functions.told(FN)) == 1
    assert await functions.queued(FN) == {"lost": 1}
    assert swept.sweep.oldest().keys() == {FN}


async def test_a_queue_that_has_lost_everything_is_followed_from_its_beginning(
    swept: Swept,
) -> None:
    functions = swept.functions
    await functions.submit(FN, "before")
    await functions.submit(FN, "before-too")
    await swept.sweep.round()
    jetstream = functions.jetstream
    for wire in streams(NAMES, StreamLimits()):
        await jetstream.delete_stream(wire["name"])
        await functions.make(wire)
    await functions.submit(FN, "after", ttl_seconds=5)
    await swept.sweep.round()
    assert (await functions.read(FN, "after")).state is State.EXPIRED


@pytest.mark.parametrize("moment", Moment)
async def test_a_sweep_that_dies_at_any_wait_is_followed_by_one_that_ends_right(
    swept: Swept, queue: QueueServer, moment: Moment
) -> None:
    functions, turns = swept.functions, 0
    with mortality(asyncio.get_running_loop()):
        for at in itertools.count(1):
            turns = at
            await functions.submit(FN, f"overdue-{at}", ttl_seconds=5)
            made = await functions.submit(FN, f"released-{at}", queued=False)
            begun = transition.begun(made, "fn-1", 999, now_ms())
            await functions.write(FN, f"released-{at}", begun)
            program, ended = MortalProgram(Sweep.round, at, moment), asyncio.Event()
            connection = QueueConnection(access(queue), "dying", LATER)
            async with program.running(swept.round_of_another(connection, ended)):
                await first_of(program.struck.wait(), ended.wait())
                await swept.sweep.round()
            record = await functions.read(FN, f"overdue-{at}")
            assert (record.state, record.published) == (State.EXPIRED, True)
            assert (await functions.read(FN, f"released-{at}")).state is State.QUEUED
            if not program.is_dead:
                break
            await functions.jetstream.purge_stream(f"KV_{NAMES.record_bucket}")
    told = [each.invocation_id for each in await functions.told(FN)]
    assert sorted(told) == sorted(f"overdue-{turn}" for turn in range(1, turns + 1))
    assert set(await functions.queued(FN)) == {f"released-{turn}" for turn in range(1, turns + 1)}
    assert turns > 10  # else there was too little to die of
