"""Every response of a framework, and every missing response: each gives one recorded outcome."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from nats.js.api import DiscardPolicy

from hack.cluster.nats_server import NATSServer
from serverless.framework.server import create_app, serving
from serverless.nats.requests import JetStreamClient
from shared.invocation import transition
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.record import InvocationBody
from shared.invocation.state import InvocationState
from shared.invocation.worker_report import WorkerReport
from shared.time import now_ms
from tests.support.checks.invocation_checks import InvocationSnapshot
from tests.support.queue.function_harness import (
    FunctionHarness,
    is_running,
)
from tests.support.queue.in_process_worker import NO_HEARTBEAT_INTERVALS, WorkerOptions, run_worker
from tests.support.queue.misbehaving_framework import serve_misbehaving_framework
from tests.support.queue.recording_framework import RecordingFramework, serve_recording_framework
from tests.support.wait.eventually import eventually, immediate


def outcomes(snapshot: InvocationSnapshot) -> dict[str, tuple[InvocationState, str, int]]:
    """Return state, failure class and attempts by invocationID."""
    return {
        outcome.invocation_id: (outcome.state, outcome.result.failure_class, outcome.attempts)
        for outcome in snapshot.outcomes
    }


async def test_function_results_and_errors_become_outcomes(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.submit("good")
    await harness.submit("bad", attributes={"fail": "so"})
    await harness.submit("retried", attributes={"failAttempts": 1})
    await harness.submit("used-up", attributes={"failAttempts": 9}, max_attempts=2)
    await harness.submit("late", attributes={"wait": True}, timeout_seconds=1)
    await harness.submit("bodiless", body=InvocationBody(object_name="gone", size=300_000))
    await harness.submit(
        "garbled", body=await harness.put_malformed_body("odd", b'{"name": "odd"}')
    )
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket, concurrency=8) as worker,
    ):
        await eventually(lambda: immediate(not worker.not_ready()))
        # The run begins only within the few seconds of tolerated clock skew.
        await harness.submit("overdue", attributes={"wait": True}, ttl_seconds=0)
        snapshot = await harness.wait_finished()
    assert outcomes(snapshot) == {
        "good": (InvocationState.SUCCEEDED, "", 1),
        "bad": (InvocationState.FAILED, "framework_error", 1),
        "retried": (InvocationState.SUCCEEDED, "", 2),
        "used-up": (InvocationState.DEAD_LETTERED, "attempts_exhausted", 2),
        "late": (InvocationState.FAILED, "timeout", 1),
        "overdue": (InvocationState.EXPIRED, "expired", 1),
        "bodiless": (InvocationState.FAILED, "body_lost", 1),
        "garbled": (InvocationState.FAILED, "body_lost", 1),
    }
    bodies = {item.invocation_id: item.result.body.inline for item in snapshot.outcomes}
    assert (bodies["good"], bodies["retried"]) == (b"good/1/1", b"retried/1/2")


async def test_a_misbehaving_framework_fails_its_own_invocations_only(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    for number, response in enumerate(
        ("garbage", "half", "silent", "bad chunks", "odd headers", "huge")
    ):
        await harness.submit(f"{number}", attributes={"response": response}, max_attempts=2)
    async with (
        serve_misbehaving_framework() as socket,
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        snapshot = await harness.wait_finished()
    assert outcomes(snapshot) == {
        "0": (InvocationState.FAILED, "framework_protocol", 1),
        "1": (InvocationState.FAILED, "framework_protocol", 1),
        "2": (InvocationState.DEAD_LETTERED, "attempts_exhausted", 2),
        "3": (InvocationState.FAILED, "framework_protocol", 1),
        "4": (InvocationState.SUCCEEDED, "", 1),
        "5": (InvocationState.FAILED, "result_too_large", 1),
    }
    (result,) = (item.result for item in snapshot.outcomes if item.invocation_id == "4")
    assert (result.headers, result.content_type) == ({"X-Good": "yes"}, "application/octet-stream")


async def test_large_bodies_are_stored_in_the_bucket_of_the_function(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    large = await harness.put_body("a-large-one", b"y" * 5_000_000)
    await harness.submit("big", body=large, attributes={"answerBytes": 5_000_000})
    await harness.submit("edge", attributes={"answerBytes": DEFAULT_INLINE_BYTES})
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        snapshot = await harness.wait_finished()
    results = {item.invocation_id: item.result.body for item in snapshot.outcomes}
    assert framework.received_bytes["big"] == 5_000_000
    assert results["edge"].object_name == ""
    assert results["big"].object_name == f"{harness.function_uid}.big.1.1.result"
    assert await harness.read_body(results["big"]) == b"x" * 5_000_000


async def test_outcomes_are_stored_although_their_results_do_not_fit_the_records(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    names = [f"n{number}" for number in range(12)]
    for name in names:
        await harness.submit(name, attributes={"answerBytes": 200_000})
    async with (
        records_limited(harness, more_bytes=12 * 8192),
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        await eventually(harness.is_queue_empty)
        for name in names:
            record, _ = await harness.read_record(name)
            assert (record.state, record.attempts) == (InvocationState.SUCCEEDED, 1)
            assert record.result is not None
            assert await harness.read_body(record.result.body) == b"x" * 200_000


async def test_a_result_above_the_inline_limit_is_stored_as_an_object(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    for name, size in (("small", 1000), ("larger", 1001)):
        await harness.submit(name, attributes={"answerBytes": size}, inline_bytes=1000)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        snapshot = await harness.wait_finished()
    results = {item.invocation_id: item.result.body for item in snapshot.outcomes}
    assert (results["small"].object_name, results["small"].size) == ("", 1000)
    assert (results["larger"].inline, results["larger"].size) == (b"", 1001)
    assert await harness.read_body(results["larger"]) == b"x" * 1001


@asynccontextmanager
async def records_limited(harness: FunctionHarness, more_bytes: int) -> AsyncIterator[None]:
    """Limit the records bucket to so many more bytes for the length of the block."""
    jetstream, stream = harness.client.jetstream(), f"KV_{harness.names.record_bucket}"
    before = (await jetstream.stream_info(stream)).config
    try:
        limited = before.evolve(max_msgs_per_subject=1, discard=DiscardPolicy.NEW)
        used_bytes = (await jetstream.update_stream(limited)).state.bytes
        await jetstream.update_stream(limited, max_bytes=used_bytes + more_bytes)
        yield
    finally:
        await jetstream.update_stream(before)


async def test_messages_without_a_valid_record_are_dead_lettered_or_dropped(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.publish_raw("nonsense", b"{")
    await harness.publish_raw(
        "swapped", b'{"functionUid":"f","requestID":"r","invocationID":"x","run":1}'
    )
    await harness.submit("again")
    record, _ = await harness.read_record("again")
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        await harness.wait_finished()
        await harness.publish_call("again", record)  # as a late retry of the publish does
        snapshot = await harness.wait_finished()
    assert len(snapshot.executions) == 1
    classes = [letter.failure_class for letter in snapshot.dead_letters]
    assert classes.count("unreadable") == 2


class CorruptingJetStream(JetStreamClient):
    """A queue client that corrupts the first record just before its worker writes it."""

    has_corrupted = False

    async def publish(
        self,
        subject: str,
        data: bytes,
        *,
        message_id: str = "",
        expected_sequence: int | None = None,
    ) -> int:
        if expected_sequence is not None and not self.has_corrupted:
            self.has_corrupted = True
            await super().publish(subject, b"?")
        return await super().publish(
            subject, data, message_id=message_id, expected_sequence=expected_sequence
        )


async def test_a_record_that_becomes_unreadable_does_not_affect_other_records(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.submit("corrupted")
    options = WorkerOptions(queue=CorruptingJetStream)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket, options=options),
    ):
        await eventually(harness.is_queue_empty)
        await harness.submit("good")
        await eventually(lambda: harness.read_record("good"), lambda stored: stored[0].published)
    assert [execution.invocation_id for execution in harness.executions] == ["good"]


async def test_no_attempt_is_started_before_the_framework_is_healthy(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.submit("waiting")
    framework = RecordingFramework(harness.executions)
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        socket = Path(folder) / "framework.sock"
        async with run_worker(nats_server.admin_url, harness.function_name, socket) as worker:
            reasons = ["the framework is not healthy"]
            await eventually(lambda: immediate(worker.not_ready()), reasons.__eq__)
            await eventually(lambda: harness.worker_report("worker-1"))
            record, _ = await harness.read_record("waiting")
            assert (record.state, record.attempts) == (InvocationState.QUEUED, 0)
            async with serving(create_app(framework.handle, {}), socket):
                snapshot = await harness.wait_finished()
            assert outcomes(snapshot) == {"waiting": (InvocationState.SUCCEEDED, "", 1)}


@pytest.mark.parametrize("is_notified", [True, False], ids=["notified", "read by the heartbeat"])
async def test_a_cancelled_invocation_is_interrupted(
    nats_server: NATSServer, harness: FunctionHarness, *, is_notified: bool
) -> None:
    await harness.submit("unwanted", attributes={"wait": True})
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket),
    ):
        await eventually(lambda: immediate(framework.running_by_invocation["unwanted"]))
        await harness.cancel("unwanted", notify_worker=is_notified)
        snapshot = await harness.wait_finished()
        await eventually(lambda: immediate(framework.running_by_invocation["unwanted"] == 0))
    assert outcomes(snapshot) == {"unwanted": (InvocationState.CANCELLED, "cancelled", 1)}


async def test_a_run_with_a_final_record_is_aborted_by_a_notification(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.submit("purged", attributes={"wait": True})
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(
            nats_server.admin_url,
            harness.function_name,
            socket,
            options=WorkerOptions(intervals=NO_HEARTBEAT_INTERVALS),
        ),
    ):
        await eventually(lambda: immediate(framework.running_by_invocation["purged"]))
        record, revision = await harness.read_record("purged")
        await harness.write_record(
            "purged", transition.cancelled(record, now_ms(harness.clock)), revision
        )
        await harness.client.publish(
            harness.names.cancellation_subject(harness.function_name), b"purged"
        )
        await eventually(lambda: immediate(framework.running_by_invocation["purged"] == 0))


async def test_a_worker_runs_at_most_as_many_invocations_as_its_slots_and_reports_them(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    for number in range(5):
        await harness.submit(f"n{number}", attributes={"wait": True})
    async with (
        serve_recording_framework(harness.executions) as (framework, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket, concurrency=2),
    ):
        await eventually(lambda: harness.worker_report("worker-1"), is_running(2))
        info = await harness.client.jetstream().consumer_info(
            harness.names.invocations_stream, harness.function_name
        )
        assert (info.num_ack_pending, info.num_pending) == (2, 3)
        framework.release.set()
        await harness.wait_finished()
        await eventually(lambda: harness.worker_report("worker-1"), is_running(0))
    assert framework.max_running == 2


async def test_a_draining_worker_finishes_running_invocations_and_takes_no_new_ones(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    await harness.submit("running", attributes={"wait": True})
    async with serve_recording_framework(harness.executions) as (framework, socket):
        async with run_worker(nats_server.admin_url, harness.function_name, socket) as worker:
            await eventually(lambda: immediate(framework.running_by_invocation["running"]))
            await worker.stop(0.2)  # not long enough
            await harness.submit("waiting")
            record, _ = await harness.read_record("running")
            assert (record.state, record.attempts) == (InvocationState.QUEUED, 1)
            await eventually(lambda: harness.worker_report("worker-1"), is_draining)
        framework.release.set()
        async with run_worker(
            nats_server.admin_url, harness.function_name, socket, options=WorkerOptions("worker-2")
        ):
            snapshot = await harness.wait_finished()
    assert outcomes(snapshot) == {
        "running": (InvocationState.SUCCEEDED, "", 2),
        "waiting": (InvocationState.SUCCEEDED, "", 1),
    }


async def test_a_worker_continues_after_its_consumer_and_stream_were_missing(
    nats_server: NATSServer, harness: FunctionHarness
) -> None:
    jetstream, stream = harness.client.jetstream(), harness.names.invocations_stream
    await jetstream.delete_consumer(stream, harness.function_name)
    async with (
        serve_recording_framework(harness.executions) as (_, socket),
        run_worker(nats_server.admin_url, harness.function_name, socket) as worker,
    ):
        await eventually(lambda: immediate(not worker.not_ready()))
        await jetstream.delete_stream(stream)
        await eventually(lambda: harness.worker_report("worker-1"))
        await harness.create_streams()
        await harness.submit("at-last")
        await harness.wait_finished()


def is_draining(report: WorkerReport | None) -> bool:
    return report is not None and report.draining and report.running == 0
