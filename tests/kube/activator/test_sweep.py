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
class SweepFixture:
    """A sweep that runs on demand, and a factory of further sweeps."""

    functions: FunctionsClient
    registry: CollectorRegistry
    sweep: Sweep
    new_sweep: Callable[[JetStreamClient], Sweep]

    async def run_round(self, connection: QueueConnection, done: asyncio.Event) -> None:
        """Run one round in a process with its own connection."""
        async with asyncio.TaskGroup() as group:
            connection_task = group.create_task(connection.run())
            await connection.synced()
            await group.create_task(self.new_sweep(JetStreamClient(connection)).run_round())
            done.set()
            connection_task.cancel()


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    async with new_nats_server(tmp_path / "queue") as server:
        yield server


@pytest.fixture
async def sweeper(
    installed_control_plane: ControlPlane, queue: NATSServer
) -> AsyncIterator[SweepFixture]:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        open_functions(site, queue) as functions,
        connect_client(site.activator_kubeconfig) as client,
        asyncio.TaskGroup() as group,
    ):
        clock, instance = LATER, site.namespaces.instance
        connection = QueueConnection(credentials_from_config(queue_config(queue)), "tests", clock)
        tasks = [group.create_task(connection.run())]
        stream_setup = StreamSetup(connection, stream_configs(QUEUE_NAMES, StreamLimits()), clock)
        tasks.append(group.create_task(stream_setup.run()))
        await stream_setup.synced()
        await site.create("functions", function_manifest(site))
        registry = CollectorRegistry()
        metrics = InformerMetrics(registry)
        informer = Informer(client, WatchScope(FUNCTIONS, instance), metrics, clock, Random(7))
        counts = SettleMetrics(registry)
        existence = FunctionExistence(Cache({instance: informer}), client, instance)

        def new_sweep(jetstream: JetStreamClient) -> Sweep:
            store = InvocationStore(jetstream, QUEUE_NAMES)
            return Sweep(store, RecordSettler(store, counts, clock), existence, clock)

        async with run_informers([informer]):
            yield SweepFixture(
                functions, registry, new_sweep(JetStreamClient(connection)), new_sweep
            )
        for task in tasks:
            task.cancel()


def queue_config(queue: NATSServer) -> QueueConfig:
    password_file = str(queue.password_file("activator"))
    return QueueConfig(url=queue.url, user="activator", password_file=password_file)


def function_manifest(site: IsolatedInstallation) -> dict[str, object]:
    return {
        "apiVersion": FUNCTIONS.api_version,
        "kind": "Function",
        "metadata": {"name": FN},
        "spec": {"specName": "g1.1", "image": "example/fn:1"},
    }


async def test_open_records_without_a_message_are_queued_again(sweeper: SweepFixture) -> None:
    functions = sweeper.functions
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

    await sweeper.sweep.run_round()

    assert set(await functions.queued_counts(FN)) == {"lost", "queued", "dead-worker", "redriven"}
    released = await functions.read_record(FN, "dead-worker")
    assert (released.state, released.attempts, released.worker) == (InvocationState.QUEUED, 1, "")
    assert (await functions.read_record(FN, "live-worker")).state is InvocationState.RUNNING
    assert await functions.read_record(FN, "queued") == queued
    subject = QUEUE_NAMES.call_subject(FN, "redriven")
    fresh = await functions.jetstream.get_last_msg(QUEUE_NAMES.invocations_stream, subject)
    assert (fresh.seq or 0) > stale
    assert await functions.published_outcomes(FN) == []


async def test_overdue_and_orphaned_records_get_a_final_outcome(sweeper: SweepFixture) -> None:
    functions = sweeper.functions
    overdue = await functions.submit(FN, "overdue", ttl_seconds=5)
    started = transition.attempt_started(overdue, "fn-1", 999, current_time_ms())
    await functions.write_record(FN, "cancelling", transition.cancelling(started))
    await functions.submit(FN, "of-predecessor", function_uid="other-uid")
    await functions.submit("gone", "orphan", function_uid="other-uid")
    unpublished = transition.finished(
        started, InvocationState.SUCCEEDED, InvocationResult(status_code=200), current_time_ms()
    )
    await functions.write_record(FN, "unpublished", unpublished)
    await functions.write_record(FN, "of-namesake", replace(unpublished, function_uid="other-uid"))
    await functions.publish_call(FN, "of-namesake", overdue)

    await sweeper.sweep.run_round()

    expected = {
        "cancelling": InvocationState.CANCELLED,
        "of-namesake": InvocationState.SUCCEEDED,
        "overdue": InvocationState.EXPIRED,
        "of-predecessor": InvocationState.CANCELLED,
        "unpublished": InvocationState.SUCCEEDED,
    }
    outcomes = {
        outcome.invocation_id: outcome for outcome in await functions.published_outcomes(FN)
    }
    assert {name: outcome.state for name, outcome in outcomes.items()} == expected
    assert outcomes["of-predecessor"].result.failure_class == FailureClass.FUNCTION_DELETED
    for name, state in expected.items():
        record = await functions.read_record(FN, name)
        assert (record.state, record.published) == (state, True)
    assert finished(sweeper.registry, FN) == {
        InvocationState.CANCELLED: 2,
        InvocationState.EXPIRED: 1,
    }
    orphan = await functions.read_record("gone", "orphan")
    assert (orphan.state, orphan.published) == (InvocationState.CANCELLED, True)
    assert await functions.queued_counts("gone") == {}
    # The call has another function uid than its record.
    assert await functions.queued_counts(FN) == {"of-namesake": 1}


async def test_the_worker_of_a_run_that_the_sweep_finishes_is_notified(
    sweeper: SweepFixture,
) -> None:
    functions = sweeper.functions
    subscription = await functions.client.subscribe(QUEUE_NAMES.cancellation_subject(FN))
    overdue = await functions.submit(FN, "waiting", ttl_seconds=5)
    await functions.write_record(
        FN, "running", transition.attempt_started(overdue, "fn-1", 999, current_time_ms())
    )

    await sweeper.sweep.run_round()

    assert (await functions.read_record(FN, "running")).state is InvocationState.EXPIRED
    assert (await subscription.next_msg(timeout=REQUEST_TIMEOUT_SECONDS)).data == b"running"
    assert subscription.pending_msgs == 0


async def test_a_record_with_an_invalid_key_does_not_stop_the_sweep(sweeper: SweepFixture) -> None:
    functions = sweeper.functions
    record = await functions.submit(FN, "lost", publish=False)
    for key in (f"{FN}.too.deep", FN, f"{FN}.{'x' * 65}", "Fn.x"):
        await functions.jetstream.publish(QUEUE_NAMES.record_subject(key), encode_record(record))
    await functions.submit(FN, "overdue", ttl_seconds=5)

    await sweeper.sweep.run_round()

    assert (await functions.read_record(FN, "overdue")).state is InvocationState.EXPIRED
    assert await functions.queued_counts(FN) == {"lost": 1}
    assert sweeper.sweep.oldest_queued_times().keys() == {FN}


async def test_a_record_that_cannot_be_queued_does_not_stop_the_sweep(
    sweeper: SweepFixture,
) -> None:
    functions = sweeper.functions
    lost = await functions.submit(FN, "lost", publish=False)
    started = transition.attempt_started(lost, "fn-1", 999, current_time_ms())
    unpublished = transition.finished(
        started, InvocationState.SUCCEEDED, InvocationResult(status_code=200), current_time_ms()
    )
    await functions.write_record(FN, "unpublished", unpublished)
    config = (await functions.jetstream.stream_info(QUEUE_NAMES.invocations_stream)).config
    await functions.jetstream.update_stream(config, subjects=[QUEUE_NAMES.call_filter("other")])

    await sweeper.sweep.run_round()

    assert (await functions.read_record(FN, "unpublished")).published
    await functions.jetstream.update_stream(config)
    await sweeper.sweep.run_round()
    assert await functions.queued_counts(FN) == {"lost": 1}


async def test_the_sweep_measures_the_space_used_by_records(sweeper: SweepFixture) -> None:
    await sweeper.functions.submit(FN, "small")
    await sweeper.sweep.run_round()
    before = sweeper.sweep.records_used_ratio
    large = InvocationRequest(body=InvocationBody(inline=bytes(200_000)), ttl_seconds=3600)
    await sweeper.functions.write_record(
        FN, "large", transition.new_record(large, "uid", "", current_time_ms())
    )
    await sweeper.sweep.run_round()

    assert 0 < before < sweeper.sweep.records_used_ratio < 1


def finished(registry: CollectorRegistry, function: str) -> dict[str, float]:
    """Return how many invocations of a function are counted as settled, by outcome."""
    samples = (sample for family in registry.collect() for sample in family.samples)
    return {
        sample.labels["outcome"]: sample.value
        for sample in samples
        if sample.name == "gpuruntime_invocations_finished_total"
        and sample.labels["function"] == function
    }


async def test_repeated_sweeps_publish_each_outcome_once(sweeper: SweepFixture) -> None:
    functions = sweeper.functions
    await functions.submit(FN, "overdue", ttl_seconds=5)
    await functions.submit(FN, "lost", publish=False)
    for _ in range(3):
        await sweeper.sweep.run_round()
    assert len(await functions.published_outcomes(FN)) == 1
    assert await functions.queued_counts(FN) == {"lost": 1}
    assert sweeper.sweep.oldest_queued_times().keys() == {FN}


async def test_the_sweep_starts_again_after_the_queue_lost_all_streams(
    sweeper: SweepFixture,
) -> None:
    functions = sweeper.functions
    await functions.submit(FN, "before")
    await functions.submit(FN, "before-too")
    await sweeper.sweep.run_round()
    jetstream = functions.jetstream
    for config in stream_configs(QUEUE_NAMES, StreamLimits()):
        await jetstream.delete_stream(config["name"])
        await functions.create_stream(config)
    await functions.submit(FN, "after", ttl_seconds=5)
    await sweeper.sweep.run_round()
    assert (await functions.read_record(FN, "after")).state is InvocationState.EXPIRED


@pytest.mark.parametrize("side", AwaitSide)
async def test_records_are_correct_after_a_sweep_crashes_at_any_await(
    sweeper: SweepFixture, queue: NATSServer, side: AwaitSide
) -> None:
    functions, rounds = sweeper.functions, 0
    with enable_crashes(asyncio.get_running_loop()):
        for at in itertools.count(1):
            rounds = at
            await functions.submit(FN, f"overdue-{at}", ttl_seconds=5)
            queued = await functions.submit(FN, f"released-{at}", publish=False)
            started = transition.attempt_started(queued, "fn-1", 999, current_time_ms())
            await functions.write_record(FN, f"released-{at}", started)
            program, done = CrashingProgram(Sweep.run_round, at, side), asyncio.Event()
            connection = QueueConnection(
                credentials_from_config(queue_config(queue)), "dying", LATER
            )
            async with program.run(sweeper.run_round(connection, done)):
                await wait_for_first(program.was_injected.wait(), done.wait())
                await sweeper.sweep.run_round()
            record = await functions.read_record(FN, f"overdue-{at}")
            assert (record.state, record.published) == (InvocationState.EXPIRED, True)
            assert (
                await functions.read_record(FN, f"released-{at}")
            ).state is InvocationState.QUEUED
            if not program.has_crashed:
                break
            await functions.jetstream.purge_stream(f"KV_{QUEUE_NAMES.record_bucket}")
    published = [outcome.invocation_id for outcome in await functions.published_outcomes(FN)]
    assert sorted(published) == sorted(f"overdue-{number}" for number in range(1, rounds + 1))
    assert set(await functions.queued_counts(FN)) == {
        f"released-{number}" for number in range(1, rounds + 1)
    }
    assert rounds > 10  # else there were too few calls to crash at
