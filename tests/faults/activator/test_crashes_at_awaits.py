"""The activator may die at every single wait while it settles what a function leaves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import QueueServer
from serverless.activator.queue_depths import Depths
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.finalizer import LAST_PASS_MS, Ending
from serverless.activator.sweep.invocation_store import Records
from serverless.activator.sweep.metrics import SettlingMetrics
from serverless.activator.sweep.settle import Settling
from serverless.activator.workers.queue_resources import Outfit
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStream
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.state import State
from shared.invocation.streams import StreamLimits
from shared.k8s.conditions import timestamp
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec
from tests.support.clocks.shifted_clock import ClockAhead
from tests.support.faults.crash_at_every_await import at_every_wait
from tests.support.faults.crashing_program import Moment, MortalProgram
from tests.support.queue.function_harness import FunctionWorld, new_world
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import first_of

NAMES: Final = QueueNames()
LATER: Final = ClockAhead(max(QUIET_MS, LAST_PASS_MS) / 1000 + 1)


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[QueueServer]:
    async with new_queue(tmp_path / "queue") as server:
        yield server


async def test_a_function_ends_in_order_wherever_the_activator_dies(queue: QueueServer) -> None:
    async def killed(at: int, moment: Moment) -> MortalProgram:
        program, ended = MortalProgram(Ending.advance, at, moment), asyncio.Event()
        async with new_world(queue, history=1) as world:
            await leave_things_open(world)
            async with program.running(advanced(queue, deleted(world), ended)):
                await first_of(program.struck.wait(), ended.wait())
                await advanced(queue, deleted(world), asyncio.Event())
                seen = await world.over()
        assert {each.state for each in seen.outcomes} == {State.CANCELLED}
        assert [each for each in seen.dead_letters if each.call is None], "the odd message is lost"
        return program

    await at_every_wait(killed)


async def leave_things_open(world: FunctionWorld) -> None:
    """One that is queued, one without its message, one of a worker that is gone, and rubbish."""
    await world.submit("queued")
    await world.accept("unsent")
    await world.submit("taken")
    record, revision = await world.read("taken")
    await world.write("taken", transition.begun(record, "gone", 1, world.clock.now()), revision)
    await world.publish("odd", b"?")


def deleted(world: FunctionWorld) -> Function:
    return Function(
        metadata=ObjectMeta(
            name=world.request_id,
            uid=world.function_uid,
            deletion_timestamp=timestamp(SystemClock().now()),
        ),
        spec=FunctionSpec(spec_name="g1.1", image="example/fn:1"),
    )


async def advanced(server: QueueServer, function: Function, ended: asyncio.Event) -> None:
    """Passes over the function up to the last, in a process with its own connection.

    What a process has sent that is dead by now may still come between.
    """
    connection = QueueConnection(QueueConfig(url=server.admin_url), "tests", LATER)
    jetstream = JetStream(connection)
    records = Records(jetstream, NAMES)
    depths = Depths(jetstream, NAMES.invocations_stream, lambda _: None)
    outfit = Outfit(jetstream, NAMES, StreamLimits(), depths)
    settling = Settling(records, SettlingMetrics(CollectorRegistry()), LATER)
    ending = Ending(records, settling, outfit, LATER)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(connection.run())
        await connection.synced()
        await eventually(lambda: group.create_task(ending.advance(function)))
        ended.set()
        keeping.cancel()
