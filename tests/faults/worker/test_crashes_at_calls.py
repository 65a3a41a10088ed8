"""A worker may die at every single call that it makes: nothing is lost, nothing is told twice."""

import asyncio

import pytest

from hack.cluster.nats_server import QueueServer
from shared.invocation.queue_names import QueueNames
from tests.support.faults.faulty_worker_jetstream import FAULTS, Fault, FaultyQueue, Killed
from tests.support.queue.function_harness import ACK_WAIT_SECONDS, UNHURRIED_SECONDS, new_world
from tests.support.queue.in_process_worker import STEADY, Traits, a_worker
from tests.support.queue.invocation_scenarios import STORIES
from tests.support.queue.recording_framework import recording
from tests.support.wait.eventually import eventually


@pytest.mark.parametrize("story", STORIES)
async def test_the_promise_holds_whichever_call_goes_wrong(
    queue_server: QueueServer, story: str
) -> None:
    calls = (await lived(queue_server, story, 0, Fault.NONE, UNHURRIED_SECONDS)).calls
    async with asyncio.TaskGroup() as group:
        lives = [
            group.create_task(lived(queue_server, story, at, fault))
            for at in range(1, calls + 1)
            for fault in FAULTS
        ]
    assert all(each.result().has_come for each in lives)


async def lived(
    server: QueueServer, story: str, at: int, fault: Fault, ack_wait: float = ACK_WAIT_SECONDS
) -> FaultyQueue:
    """One invocation by a worker whose nth call goes wrong, and by another that follows it."""
    queue = FaultyQueue(QueueNames(), at, fault)
    async with (
        new_world(server, ack_wait=ack_wait) as world,
        recording(world.executions) as (_, socket),
    ):
        await world.submit("it", **STORIES[story])
        try:
            traits = Traits("first", queue, pace=STEADY)
            async with a_worker(server.admin_url, world.request_id, socket, traits=traits):
                await eventually(world.nothing_is_queued)
        except* Killed:
            assert queue.is_dead
        async with a_worker(
            server.admin_url, world.request_id, socket, traits=Traits("second", pace=STEADY)
        ):
            await world.over()
    return queue
