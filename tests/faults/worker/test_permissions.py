"""A worker with only the rights of its function: it does all its work and reconnects by itself."""

import gc
from collections.abc import AsyncIterator

import pytest

from hack.cluster.nats_server import NATSServer
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.nats.credentials import NATSCredentials
from shared.invocation.state import InvocationState
from tests.support.queue.auth_callout_server import serve_auth_callout
from tests.support.queue.function_harness import (
    FunctionHarness,
    is_running,
)
from tests.support.queue.in_process_worker import WorkerOptions, run_worker
from tests.support.queue.recording_framework import RecordingFramework, serve_recording_framework
from tests.support.wait.eventually import eventually


@pytest.fixture
async def worker_credentials(
    nats_server: NATSServer, harness: FunctionHarness
) -> AsyncIterator[NATSCredentials]:
    async with serve_auth_callout(
        nats_server, WorkerUser(harness.function_name, harness.function_uid)
    ) as credentials:
        yield credentials


async def test_a_worker_with_only_its_rights_records_every_outcome(
    harness: FunctionHarness, worker_credentials: NATSCredentials
) -> None:
    large = await harness.put_body("a-large-one", b"y" * 1_000_000)
    await harness.submit("large", body=large, attributes={"answerBytes": 1_000_000})
    await harness.submit("given-up", attributes={"failAttempts": 9}, max_attempts=2)
    await harness.submit("unwanted", attributes={"wait": True})
    await harness.publish_raw("unreadable", b"{")
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(worker_credentials, harness.function_name, socket),
    ):
        await eventually(lambda: is_started(framework, "unwanted"))
        await eventually(
            lambda: harness.worker_report("worker-1"), lambda report: report is not None
        )
        await harness.cancel("unwanted")
        snapshot = await harness.wait_finished()
        await eventually(lambda: harness.worker_report("worker-1"), is_running(0))
    assert {item.invocation_id: item.state for item in snapshot.outcomes} == {
        "large": InvocationState.SUCCEEDED,
        "given-up": InvocationState.DEAD_LETTERED,
        "unwanted": InvocationState.CANCELLED,
    }
    assert {letter.failure_class for letter in snapshot.dead_letters} == {
        "unreadable",
        "attempts_exhausted",
    }


# nats-py does not close a connection that was refused; the garbage collector does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_worker_reconnects_after_a_restart_of_the_queue(
    nats_server: NATSServer, harness: FunctionHarness, worker_credentials: NATSCredentials
) -> None:
    await harness.submit("before", attributes={"wait": True})
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(worker_credentials, harness.function_name, socket),
    ):
        await eventually(lambda: is_started(framework, "before"))
        await nats_server.process.kill()
        nats_server.process.start()
        await nats_server.wait_ready()
        framework.release.set()
        await harness.wait_finished()
        await harness.submit("after")
        await harness.wait_finished()
    gc.collect()  # so that the warning belongs to this test


async def test_no_message_is_lost_when_a_worker_stops(
    harness: FunctionHarness, worker_credentials: NATSCredentials
) -> None:
    async with serve_recording_framework(harness.executions) as (_, socket):
        async with run_worker(
            worker_credentials, harness.function_name, socket, options=WorkerOptions("gone")
        ) as worker:
            await eventually(lambda: is_ready(worker.not_ready()))
            await harness.submit("first")
            await harness.wait_finished()
        await harness.submit("second")
        async with run_worker(
            worker_credentials, harness.function_name, socket, options=WorkerOptions("next")
        ):
            snapshot = await harness.wait_finished()
    assert {item.invocation_id: item.attempts for item in snapshot.outcomes} == {
        "first": 1,
        "second": 1,
    }


async def is_started(framework: RecordingFramework, invocation_id: str) -> bool:
    return framework.running_by_invocation[invocation_id] > 0


async def is_ready(reasons: list[str]) -> bool:
    return not reasons
