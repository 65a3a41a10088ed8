"""The sweep over real records: every case that no worker can finish."""

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
from controller.runtime.cache.reflector import WatchScope
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nats_server import NATSServer
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.sweep.invocation_store import InvocationStore
from serverless.activator.sweep.metrics import SettleMetrics
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.sweep.stream_repair import StreamSetup
from serverless.activator.sweep.sweep import Sweep
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import credentials_from_config
from serverless.nats.requests import JetStreamClient
from shared.invocation import transition
from shared.invocation.record import (
    InvocationBody,
    InvocationRequest,
    InvocationResult,
    encode_record,
)
from shared.invocation.state import FailureClass, InvocationState
from shared.invocation.streams import StreamLimits, stream_configs
from tests.support.builders.config_maps import connect_client
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.cluster.control_loops import run_informers
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, enable_crashes
from tests.support.queue.functions_client import (
    QUEUE_NAMES,
    REQUEST_TIMEOUT_SECONDS,
    FunctionsClient,
    current_time_ms,
    open_functions,
)
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.first_of import wait_for_first

# A clock on which records that were just written have been quiet for long enough.
LATER = ShiftedClock(31)
FN = "fn"


@dataclass(frozen=True)
class Swept:
    """A sweep that runs on demand, and a factory of further sweeps."""

    functions: FunctionsClient
    registry: CollectorRegistry
    sweep: Sweep
    make: Callable[[JetStreamClient], Sweep]

    async def round_of_another(self, connection: QueueConnection, ended: asyncio.Event) -> None:
        """Run one round in a process with its own connection."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(connection.run())
            await connection.synced()
            await group.create_task(self.make(JetStreamClient(connection)).run_round())
            ended.set()
            keeping.cancel()


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    async with new_nats_server(tmp_path / "queue") as server:
        yield server


@pytest.fixture
async def swept(installed_control_plane: ControlPlane, queue: NATSServer) -> AsyncIterator[Swept]:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        open_functions(site, queue) as functions,
        connect_client(site.activator_kubeconfig) as client,
        asyncio.TaskGroup() as group,
    ):
        clock, where = LATER, site.namespaces.instance
        connection = QueueConnection(credentials_from_config(access(queue)), "tests", clock)
        tasks = [group.create_task(connection.run())]
        made = StreamSetup(connection, stream_configs(QUEUE_NAMES, StreamLimits()), clock)
        tasks.append(group.create_task(made.run()))
        await made.synced()
        await site.create("functions", a_function(site))
        registry = CollectorRegistry()
        metrics = InformerMetrics(registry)
        informer = Informer(client, WatchScope(FUNCTIONS, where), metrics, clock, Random(7))
        counts = SettleMetrics(registry)
        homes = FunctionExistence(Cache({where: informer}), client, where)

        def make(jetstream: JetStreamClient) -> Sweep:
            records = InvocationStore(jetstream, QUEUE_NAMES)
            return Sweep(records, RecordSettler(records, counts, clock), homes, clock)

        async with run_informers([informer]):
            yield Swept(functions, registry, make(JetStreamClient(connection)), make)
        for task in tasks:
            task.cancel()


def access(queue: NATSServer) -> QueueConfig:
    password_file = str(queue.password_file("activator"))
    return QueueConfig(url=queue.url, user="activator", password_file=password_file)


def a_function(site: IsolatedInstallation) -> dict[str, object]:
    return {
        "apiVersion": FUNCTIONS.api_version,
        "kind": "Function",
        "metadata": {"name": FN},
        "spec": {"specName": "g1.1", "image": "example/fn:1"},
    }


async def test_open_records_without_a_message_are_queued_again(swept: Swept) -> None:
    functions = swept.functions
    lost = await functions.submit(FN, "lost", publish=False)
    queued = await functions.submit(FN, "queued")
    await functions.write_record(
        FN, "dead-worker", transition.attempt_started(lost, "fn-1", 999, current_time_ms())
    )
    await functions.write_record(
        FN, "live-worker", transition.attempt_started(lost, "fn-2", 999, current_time_ms())
    )
    redriven = transition.redriven(
        transition.cancelled(queued, current_time_ms()), current_time_ms()
    )
    stale = await functions.publish_call(FN, "redriven", queued)
    await functions.write_record(FN, "redriven", redriven)
    await functions.publish_worker_report(FN, "fn-2", 1, current_time_ms())

    await swept.sweep.run_round()

    assert set(await functions.queued_counts(FN)) == {"lost", "queued", "dead-worker", "redriven"}
    released = await functions.read_record(FN, "dead-worker")
    assert (released.state, released.attempts, released.worker) == (InvocationState.QUEUED, 1, "")
    assert (await functions.read_record(FN, "live-worker")).state is InvocationState.RUNNING
    assert await functions.read_record(FN, "queued") == queued
    subject = QUEUE_NAMES.call_subject(FN, "redriven")
    fresh = await functions.jetstream.get_last_msg(QUEUE_NAMES.invocations_stream, subject)
    assert (fresh.seq or 0) > stale
    assert await functions.published_outcomes(FN) == []


async def test_overdue_and_orphaned_records_get_a_final_outcome(swept: Swept) -> None:
    functions = swept.functions
    overdue = await functions.submit(FN, "overdue", ttl_seconds=5)
    begun = transition.attempt_started(overdue, "fn-1", 999, current_time_ms())
    await functions.write_record(FN, "cancelling", transition.cancelling(begun))
    await functions.submit(FN, "predecessors", function_uid="uid-of-nobody")
    await functions.submit("gone", "orphan", function_uid="uid-of-nobody")
    untold = transition.finished(
        begun, InvocationState.SUCCEEDED, InvocationResult(status_code=200), current_time_ms()
    )
    await functions.write_record(FN, "untold", untold)
    await functions.write_record(FN, "namesakes", replace(untold, function_uid="uid-of-nobody"))
    await functions.publish_call(FN, "namesakes", overdue)

    await swept.sweep.run_round()

    ended = {
        "cancelling": InvocationState.CANCELLED,
        "namesakes": InvocationState.SUCCEEDED,
        "overdue": InvocationState.EXPIRED,
        "predecessors": InvocationState.CANCELLED,
        "untold": InvocationState.SUCCEEDED,
    }
    outcomes = {each.invocation_id: each for each in await functions.published_outcomes(FN)}
    assert {name: each.state for name, each in outcomes.items()} == ended
    assert outcomes["predecessors"].result.failure_class == FailureClass.FUNCTION_DELETED
    for name, state in ended.items():
        record = await functions.read_record(FN, name)
        assert (record.state, record.published) == (state, True)
    assert finished(swept.registry, FN) == {
        InvocationState.CANCELLED: 2,
        InvocationState.EXPIRED: 1,
    }
    orphan = await functions.read_record("gone", "orphan")
    assert (orphan.state, orphan.published) == (InvocationState.CANCELLED, True)
    assert await functions.queued_counts("gone") == {}
    assert await functions.queued_counts(FN) == {
        "namesakes": 1
    }  # by another function than that of its record


async def test_the_worker_of_a_run_that_the_sweep_finishes_is_notified(swept: Swept) -> None:
    functions = swept.functions
    heard = await functions.client.subscribe(QUEUE_NAMES.cancellation_subject(FN))
    overdue = await functions.submit(FN, "waiting", ttl_seconds=5)
    await functions.write_record(
        FN, "running", transition.attempt_started(overdue, "fn-1", 999, current_time_ms())
    )

    await swept.sweep.run_round()

    assert (await functions.read_record(FN, "running")).state is InvocationState.EXPIRED
    assert (await heard.next_msg(timeout=REQUEST_TIMEOUT_SECONDS)).data == b"running"
    assert heard.pending_msgs == 0


async def test_a_record_under_an_odd_key_keeps_no_other_from_its_end(swept: Swept) -> None:
    functions = swept.functions
    sound = await functions.submit(FN, "lost", publish=False)
    for odd in (f"{FN}.too.deep", FN, f"{FN}.{'x' * 65}", "Fn.x"):
        await functions.jetstream.publish(QUEUE_NAMES.record_subject(odd), encode_record(sound))
    await functions.submit(FN, "overdue", ttl_seconds=5)

    await swept.sweep.run_round()

    assert (await functions.read_record(FN, "overdue")).state is InvocationState.EXPIRED
    assert await functions.queued_counts(FN) == {"lost": 1}
    assert swept.sweep.oldest_queued_times().keys() == {FN}


async def test_a_record_that_cannot_be_queued_keeps_no_other_from_its_end(swept: Swept) -> None:
    functions = swept.functions
    lost = await functions.submit(FN, "lost", publish=False)
    begun = transition.attempt_started(lost, "fn-1", 999, current_time_ms())
    untold = transition.finished(
        begun, InvocationState.SUCCEEDED, InvocationResult(status_code=200), current_time_ms()
    )
    await functions.write_record(FN, "untold", untold)
    config = (await functions.jetstream.stream_info(QUEUE_NAMES.invocations_stream)).config
    await functions.jetstream.update_stream(config, subjects=[QUEUE_NAMES.call_filter("other")])

    await swept.sweep.run_round()

    assert (await functions.read_record(FN, "untold")).published
    await functions.jetstream.update_stream(config)
    await swept.sweep.run_round()
    assert await functions.queued_counts(FN) == {"lost": 1}


async def test_the_sweep_measures_the_space_used_by_records(swept: Swept) -> None:
    await swept.functions.submit(FN, "small")
    await swept.sweep.run_round()
    before = swept.sweep.records_used_ratio
    large = InvocationRequest(body=InvocationBody(inline=bytes(200_000)), ttl_seconds=3600)
    await swept.functions.write_record(
        FN, "large", transition.new_record(large, "uid", "", current_time_ms())
    )
    await swept.sweep.run_round()

    assert 0 < before < swept.sweep.records_used_ratio < 1


def finished(registry: CollectorRegistry, function: str) -> dict[str, float]:
    """Return how many invocations of a function are counted as settled, by outcome."""
    samples = (each for family in registry.collect() for each in family.samples)
    return {
        each.labels["outcome"]: each.value
        for each in samples
        if each.name == "gpuruntime_invocations_finished_total"
        and each.labels["function"] == function
    }


async def test_a_second_sweep_changes_nothing_and_publishes_no_outcome_twice(swept: Swept) -> None:
    functions = swept.functions
    await functions.submit(FN, "overdue", ttl_seconds=5)
    await functions.submit(FN, "lost", publish=False)
    for _ in range(3):
        await swept.sweep.run_round()
    assert len(await functions.published_outcomes(FN)) == 1
    assert await functions.queued_counts(FN) == {"lost": 1}
    assert swept.sweep.oldest_queued_times().keys() == {FN}


async def test_a_queue_that_has_lost_everything_is_followed_from_its_beginning(
    swept: Swept,
) -> None:
    functions = swept.functions
    await functions.submit(FN, "before")
    await functions.submit(FN, "before-too")
    await swept.sweep.run_round()
    jetstream = functions.jetstream
    for wire in stream_configs(QUEUE_NAMES, StreamLimits()):
        await jetstream.delete_stream(wire["name"])
        await functions.create_stream(wire)
    await functions.submit(FN, "after", ttl_seconds=5)
    await swept.sweep.run_round()
    assert (await functions.read_record(FN, "after")).state is InvocationState.EXPIRED


@pytest.mark.parametrize("moment", AwaitSide)
async def test_records_are_correct_after_a_sweep_crashes_at_any_await(
    swept: Swept, queue: NATSServer, moment: AwaitSide
) -> None:
    functions, turns = swept.functions, 0
    with enable_crashes(asyncio.get_running_loop()):
        for at in itertools.count(1):
            turns = at
            await functions.submit(FN, f"overdue-{at}", ttl_seconds=5)
            made = await functions.submit(FN, f"released-{at}", publish=False)
            begun = transition.attempt_started(made, "fn-1", 999, current_time_ms())
            await functions.write_record(FN, f"released-{at}", begun)
            program, ended = CrashingProgram(Sweep.run_round, at, moment), asyncio.Event()
            connection = QueueConnection(credentials_from_config(access(queue)), "dying", LATER)
            async with program.run(swept.round_of_another(connection, ended)):
                await wait_for_first(program.was_injected.wait(), ended.wait())
                await swept.sweep.run_round()
            record = await functions.read_record(FN, f"overdue-{at}")
            assert (record.state, record.published) == (InvocationState.EXPIRED, True)
            assert (
                await functions.read_record(FN, f"released-{at}")
            ).state is InvocationState.QUEUED
            if not program.has_crashed:
                break
            await functions.jetstream.purge_stream(f"KV_{QUEUE_NAMES.record_bucket}")
    told = [each.invocation_id for each in await functions.published_outcomes(FN)]
    assert sorted(told) == sorted(f"overdue-{turn}" for turn in range(1, turns + 1))
    assert set(await functions.queued_counts(FN)) == {
        f"released-{turn}" for turn in range(1, turns + 1)
    }
    assert turns > 10  # else there were too few calls to crash at
