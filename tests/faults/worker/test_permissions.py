"""A worker does all its work with the rights of its function, and comes in again by itself."""

import gc
from collections.abc import AsyncIterator

import pytest

from hack.cluster.nats_server import QueueServer
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.nats.credentials import Access
from shared.invocation.state import State
from tests.support.queue.auth_callout_server import admitted
from tests.support.queue.function_harness import UNHURRIED_SECONDS, FunctionWorld, new_world, runs
from tests.support.queue.in_process_worker import Traits, a_worker
from tests.support.queue.recording_framework import RecordingFramework, recording
from tests.support.wait.eventually import eventually


@pytest.fixture
async def world(queue_server: QueueServer) -> AsyncIterator[FunctionWorld]:
    async with new_world(queue_server, ack_wait=UNHURRIED_SECONDS) as made:
        yield made


@pytest.fixture
async def access(queue_server: QueueServer, world: FunctionWorld) -> AsyncIterator[Access]:
    async with admitted(queue_server, WorkerUser(world.request_id, world.function_uid)) as made:
        yield made


async def test_every_outcome_is_within_a_workers_rights(
    world: FunctionWorld, access: Access
) -> None:
    large = await world.large_body("a-large-one", b"y" * 1_000_000)
    await world.submit("large", body=large, attributes={"answerBytes": 1_000_000})
    await world.submit("given-up", attributes={"failAttempts": 9}, max_attempts=2)
    await world.submit("unwanted", attributes={"wait": True})
    await world.publish("unreadable", b"{")
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(access, world.request_id, socket),
    ):
        await eventually(lambda: has_begun(framework, "unwanted"))
        await eventually(lambda: world.report("worker-1"), lambda report: report is not None)
        await world.cancel("unwanted")
        seen = await world.over()
        await eventually(lambda: world.report("worker-1"), runs(0))
    assert {each.invocation_id: each.state for each in seen.outcomes} == {
        "large": State.SUCCEEDED,
        "given-up": State.DEAD_LETTERED,
        "unwanted": State.CANCELLED,
    }
    assert {each.failure_class for each in seen.dead_letters} == {
        "unreadable",
        "attempts_exhausted",
    }


# nats-py forgets to close a connection on which it was refused; the collector does it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_worker_comes_in_again_after_the_queue_was_away(
    queue_server: QueueServer, world: FunctionWorld, access: Access
) -> None:
    await world.submit("before", attributes={"wait": True})
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(access, world.request_id, socket),
    ):
        await eventually(lambda: has_begun(framework, "before"))
        await queue_server.process.kill()
        queue_server.process.start()
        await queue_server.ready()
        framework.let_go.set()
        await world.over()
        await world.submit("after")
        await world.over()
    gc.collect()  # so that the warning is of this test


async def test_a_worker_that_has_gone_takes_no_message_with_it(
    world: FunctionWorld, access: Access
) -> None:
    async with recording(world.executions) as (_, socket):
        async with a_worker(access, world.request_id, socket, traits=Traits("gone")) as worker:
            await eventually(lambda: is_ready(worker.not_ready()))
            await world.submit("first")
            await world.over()
        await world.submit("second")
        async with a_worker(access, world.request_id, socket, traits=Traits("next")):
            seen = await world.over()
    assert {each.invocation_id: each.attempts for each in seen.outcomes} == {
        "first": 1,
        "second": 1,
    }


async def has_begun(framework: RecordingFramework, invocation_id: str) -> bool:
    return framework.running[invocation_id] > 0


async def is_ready(reasons: list[str]) -> bool:
    return not reasons
