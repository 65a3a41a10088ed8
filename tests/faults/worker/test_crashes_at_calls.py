"""Crashes of a worker at every single call: no outcome is lost, and none is published twice."""

import asyncio

import pytest

from hack.cluster.nats_server import NATSServer
from shared.invocation.queue_names import QueueNames
from tests.support.faults.faulty_worker_jetstream import (
    QUEUE_FAULTS,
    FaultyWorkerJetStream,
    QueueFault,
    WorkerKilled,
)
from tests.support.queue.function_harness import (
    ACK_WAIT_SECONDS,
    LONG_ACK_WAIT_SECONDS,
    new_function_harness,
)
from tests.support.queue.in_process_worker import NO_HEARTBEAT_INTERVALS, WorkerOptions, run_worker
from tests.support.queue.invocation_scenarios import SCENARIOS
from tests.support.queue.recording_framework import serve_recording_framework
from tests.support.wait.eventually import eventually


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_an_invocation_is_finished_once_although_any_call_fails(
    nats_server: NATSServer, scenario: str
) -> None:
    faultless = await run_scenario(nats_server, scenario, 0, QueueFault.NONE, LONG_ACK_WAIT_SECONDS)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_scenario(nats_server, scenario, at, fault))
            for at in range(1, faultless.calls + 1)
            for fault in QUEUE_FAULTS
        ]
    assert all(task.result().was_injected for task in tasks)


async def run_scenario(
    server: NATSServer,
    scenario: str,
    at: int,
    fault: QueueFault,
    ack_wait: float = ACK_WAIT_SECONDS,
) -> FaultyWorkerJetStream:
    """Run one invocation on a worker whose nth call fails, and on another worker that follows."""
    queue = FaultyWorkerJetStream(QueueNames(), at, fault)
    async with (
        new_function_harness(server, ack_wait=ack_wait) as harness,
        serve_recording_framework(harness.executions) as (_, socket),
    ):
        await harness.submit("it", **SCENARIOS[scenario])
        try:
            options = WorkerOptions("first", queue.connect_to, intervals=NO_HEARTBEAT_INTERVALS)
            async with run_worker(server.admin_url, harness.function_name, socket, options=options):
                await eventually(harness.is_queue_empty)
        except* WorkerKilled:
            assert queue.is_dead
        async with run_worker(
            server.admin_url,
            harness.function_name,
            socket,
            options=WorkerOptions("second", intervals=NO_HEARTBEAT_INTERVALS),
        ):
            await harness.wait_finished()
    return queue
