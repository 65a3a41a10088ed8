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
    async def killed(at: int, moment: AwaitSide) -> CrashingProgram:
        program, ended = CrashingProgram(FunctionFinalizer.finalize, at, moment), asyncio.Event()
        async with new_function_harness(queue, history=1) as world:
            await leave_things_open(world)
            async with program.run(advanced(queue, deleted(world), ended)):
                await wait_for_first(program.was_injected.wait(), ended.wait())
                await advanced(queue, deleted(world), asyncio.Event())
                seen = await world.wait_finished()
        assert {each.state for each in seen.outcomes} == {InvocationState.CANCELLED}
        assert [each for each in seen.dead_letters if each.call is None], "the odd message is lost"
        return program

    await crash_at_every_await(killed)


async def leave_things_open(world: FunctionHarness) -> None:
    """Create the cases of a deleted function.

    One invocation is queued, one has no message, one has a lost worker, and one message is invalid.
    """
    await world.submit("queued")
    await world.create_record("unsent")
    await world.submit("taken")
    record, revision = await world.read_record("taken")
    await world.write_record(
        "taken", transition.attempt_started(record, "gone", 1, now_ms(world.clock)), revision
    )
    await world.publish_raw("odd", b"?")


def deleted(world: FunctionHarness) -> Function:
    return Function(
        metadata=ObjectMeta(
            name=world.function_name,
            uid=world.function_uid,
            deletion_timestamp=format_timestamp(SystemClock().now()),
        ),
        spec=FunctionSpec(spec_name="g1.1", image="example/fn:1"),
    )


async def advanced(server: NATSServer, function: Function, ended: asyncio.Event) -> None:
    """Sweep the function until the last pass, in a process with its own connection.

    Messages that a dead process has sent may still arrive during the passes.
    """
    connection = QueueConnection(lambda: NATSCredentials(server.admin_url), "tests", LATER)
    jetstream = JetStreamClient(connection)
    records = InvocationStore(jetstream, NAMES)
    depths = QueueDepths(jetstream, NAMES.invocations_stream, lambda _: None)
    outfit = QueueResources(jetstream, NAMES, StreamLimits(), depths)
    settling = RecordSettler(records, SettleMetrics(CollectorRegistry()), LATER)
    ending = FunctionFinalizer(records, settling, outfit, LATER)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(connection.run())
        await connection.synced()
        await eventually(lambda: group.create_task(ending.finalize(function)))
        ended.set()
        keeping.cancel()
