"""Crashes of the activator at every single await while it settles a deleted function."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import NATSServer
from serverless.activator.queue_depths import QueueDepths
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.finalizer import LAST_PASS_DELAY_MS, FunctionFinalizer
from serverless.activator.sweep.invocation_store import InvocationStore
from serverless.activator.sweep.metrics import SettleMetrics
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.workers.queue_resources import QueueResources
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials
from serverless.nats.requests import JetStreamClient
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.state import InvocationState
from shared.invocation.streams import StreamLimits
from shared.k8s.meta import ObjectMeta
from shared.time import format_timestamp, now_ms
from shared.v1alpha1.function import Function, FunctionSpec
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.faults.crashing_program import AwaitSide, CrashingProgram, crash_at_every_await
from tests.support.queue.function_harness import FunctionHarness, new_function_harness
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import wait_for_first

NAMES: Final = QueueNames()
LATER: Final = ShiftedClock(max(QUIET_MS, LAST_PASS_DELAY_MS) / 1000 + 1)


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    async with new_nats_server(tmp_path / "queue") as server:
        yield server


async def test_a_function_is_deleted_completely_although_the_activator_crashes_at_any_await(
    queue: NATSServer,
) -> None:
    async def crash(at: int, side: AwaitSide) -> CrashingProgram:
        program, done = CrashingProgram(FunctionFinalizer.finalize, at, side), asyncio.Event()
        async with new_function_harness(queue, history=1) as harness:
            await create_open_invocations(harness)
            async with program.run(finalize(queue, deleted_function(harness), done)):
                await wait_for_first(program.was_injected.wait(), done.wait())
                await finalize(queue, deleted_function(harness), asyncio.Event())
                snapshot = await harness.wait_finished()
        assert {outcome.state for outcome in snapshot.outcomes} == {InvocationState.CANCELLED}
        calls = [letter.call for letter in snapshot.dead_letters]
        assert None in calls, "the unreadable message is lost"
        return program

    await crash_at_every_await(crash)


async def create_open_invocations(harness: FunctionHarness) -> None:
    """Create the cases of a deleted function.

    One invocation is queued, one has no message, one has a lost worker, and one message is invalid.
    """
    await harness.submit("queued")
    await harness.create_record("unsent")
    await harness.submit("taken")
    record, revision = await harness.read_record("taken")
    await harness.write_record(
        "taken", transition.attempt_started(record, "gone", 1, now_ms(harness.clock)), revision
    )
    await harness.publish_raw("unreadable", b"?")


def deleted_function(harness: FunctionHarness) -> Function:
    return Function(
        metadata=ObjectMeta(
            name=harness.function_name,
            uid=harness.function_uid,
            deletion_timestamp=format_timestamp(SystemClock().now()),
        ),
        spec=FunctionSpec(spec_name="g1.1", image="example/fn:1"),
    )


async def finalize(server: NATSServer, function: Function, done: asyncio.Event) -> None:
    """Finalize the function until the last pass, on a connection of its own.

    Messages that a dead process has sent may still arrive during the passes.
    """
    connection = QueueConnection(lambda: NATSCredentials(server.admin_url), "tests", LATER)
    jetstream = JetStreamClient(connection)
    store = InvocationStore(jetstream, NAMES)
    depths = QueueDepths(jetstream, NAMES.invocations_stream, lambda _: None)
    queue_resources = QueueResources(jetstream, NAMES, StreamLimits(), depths)
    settler = RecordSettler(store, SettleMetrics(CollectorRegistry()), LATER)
    finalizer = FunctionFinalizer(store, settler, queue_resources, LATER)
    async with asyncio.TaskGroup() as group:
        connection_task = group.create_task(connection.run())
        await connection.synced()
        await eventually(lambda: group.create_task(finalizer.finalize(function)))
        done.set()
        connection_task.cancel()
