"""Every way in which a framework answers, or does not, gives one recorded outcome."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from nats.js.api import DiscardPolicy

from hack.cluster.nats_server import QueueServer
from serverless.framework.server import application, serving
from serverless.worker.jetstream import Queue
from shared.invocation import transition
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.record import Body
from shared.invocation.state import State
from shared.invocation.worker_report import WorkerReport
from tests.support.checks.invocation_checks import Seen
from tests.support.queue.function_harness import UNHURRIED_SECONDS, FunctionWorld, new_world, runs
from tests.support.queue.in_process_worker import STEADY, Traits, a_worker
from tests.support.queue.misbehaving_framework import rude
from tests.support.queue.recording_framework import RecordingFramework, recording
from tests.support.wait.eventually import eventually

T = TypeVar("T")


@pytest.fixture
async def world(queue_server: QueueServer) -> AsyncIterator[FunctionWorld]:
    async with new_world(queue_server, ack_wait=UNHURRIED_SECONDS) as made:
        yield made


def outcomes(seen: Seen) -> dict[str, tuple[State, str, int]]:
    """State, failure class and attempts by invocationID."""
    return {
        each.invocation_id: (each.state, each.result.failure_class, each.attempts)
        for each in seen.outcomes
    }


async def test_answers_and_errors_become_outcomes(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.submit("good")
    await world.submit("bad", attributes={"fail": "so"})
    await world.submit("retried", attributes={"failAttempts": 1})
    await world.submit("used-up", attributes={"failAttempts": 9}, max_attempts=2)
    await world.submit("late", attributes={"wait": True}, timeout_seconds=1)
    await world.submit("bodiless", body=Body(object_name="gone", size=300_000))
    await world.submit("garbled", body=await world.garbled_body("odd", b'{"name": "odd"}'))
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket, concurrency=8) as worker,
    ):
        await eventually(lambda: now(not worker.not_ready()))
        # It is begun only within the few seconds by which clocks may be wrong.
        await world.submit("overdue", attributes={"wait": True}, ttl_seconds=0)
        seen = await world.over()
    assert outcomes(seen) == {
        "good": (State.SUCCEEDED, "", 1),
        "bad": (State.FAILED, "framework_error", 1),
        "retried": (State.SUCCEEDED, "", 2),
        "used-up": (State.DEAD_LETTERED, "attempts_exhausted", 2),
        "late": (State.FAILED, "timeout", 1),
        "overdue": (State.EXPIRED, "expired", 1),
        "bodiless": (State.FAILED, "body_lost", 1),
        "garbled": (State.FAILED, "body_lost", 1),
    }
    bodies = {each.invocation_id: each.result.body.inline for each in seen.outcomes}
    assert (bodies["good"], bodies["retried"]) == (b"good/1/1", b"retried/1/2")


async def test_a_rude_framework_fails_its_invocations_and_nothing_else(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    for number, manner in enumerate(
        ("garbage", "half", "silent", "bad chunks", "odd headers", "huge")
    ):
        await world.submit(f"{number}", attributes={"rude": manner}, max_attempts=2)
    async with rude() as socket, a_worker(queue_server.admin_url, world.request_id, socket):
        seen = await world.over()
    assert outcomes(seen) == {
        "0": (State.FAILED, "framework_protocol", 1),
        "1": (State.FAILED, "framework_protocol", 1),
        "2": (State.DEAD_LETTERED, "attempts_exhausted", 2),
        "3": (State.FAILED, "framework_protocol", 1),
        "4": (State.SUCCEEDED, "", 1),
        "5": (State.FAILED, "result_too_large", 1),
    }
    (odd,) = (each.result for each in seen.outcomes if each.invocation_id == "4")
    assert (odd.headers, odd.content_type) == ({"X-Good": "yes"}, "application/octet-stream")


async def test_large_bodies_go_through_the_functions_bucket(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    large = await world.large_body("a-large-one", b"y" * 5_000_000)
    await world.submit("big", body=large, attributes={"answerBytes": 5_000_000})
    await world.submit("edge", attributes={"answerBytes": INLINE_BYTES})
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        seen = await world.over()
    results = {each.invocation_id: each.result.body for each in seen.outcomes}
    assert framework.received["big"] == 5_000_000
    assert results["edge"].object_name == ""
    assert results["big"].object_name == f"{world.function_uid}.big.1.1.result"
    assert await world.body(results["big"]) == b"x" * 5_000_000


async def test_outcomes_find_room_where_their_results_have_none_in_the_records(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    names = [f"n{number}" for number in range(12)]
    for name in names:
        await world.submit(name, attributes={"answerBytes": 200_000})
    async with (
        records_limited(world, more_bytes=12 * 8192),
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        await eventually(world.nothing_is_queued)
        for name in names:
            record, _ = await world.read(name)
            assert (record.state, record.attempts) == (State.SUCCEEDED, 1)
            assert record.result is not None
            assert await world.body(record.result.body) == b"x" * 200_000


async def test_a_result_stays_out_of_a_record_that_may_not_hold_it(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    for name, size in (("small", 1000), ("larger", 1001)):
        await world.submit(name, attributes={"answerBytes": size}, inline_bytes=1000)
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        seen = await world.over()
    results = {each.invocation_id: each.result.body for each in seen.outcomes}
    assert (results["small"].object_name, results["small"].size) == ("", 1000)
    assert (results["larger"].inline, results["larger"].size) == (b"", 1001)
    assert await world.body(results["larger"]) == b"x" * 1001


@asynccontextmanager
async def records_limited(world: FunctionWorld, more_bytes: int) -> AsyncIterator[None]:
    """The records may take only so many bytes more for the length of the block."""
    jetstream, stream = world.client.jetstream(), f"KV_{world.names.record_bucket}"
    before = (await jetstream.stream_info(stream)).config
    try:
        shipped = before.evolve(max_msgs_per_subject=1, discard=DiscardPolicy.NEW)
        taken = (await jetstream.update_stream(shipped)).state.bytes
        await jetstream.update_stream(shipped, max_bytes=taken + more_bytes)
        yield
    finally:
        await jetstream.update_stream(before)


async def test_messages_without_a_sound_record_are_buried_or_dropped(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.publish("nonsense", b"{")
    await world.publish(
        "swapped", b'{"functionUid":"f","requestID":"r","invocationID":"x","run":1}'
    )
    await world.submit("again")
    record, _ = await world.read("again")
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        await world.over()
        await world.queue("again", record)  # as a late retry of the publish does
        seen = await world.over()
    assert len(seen.executions) == 1
    buried = [each.original for each in seen.dead_letters if each.failure_class == "unreadable"]
    assert len(buried) == 2


class SpoilingQueue(Queue):
    """Somebody writes nonsense into the first record just before its worker does."""

    is_spoilt = False

    async def write(self, subject: str, value: bytes, revision: int) -> int:
        if not self.is_spoilt:
            self.is_spoilt = True
            await self.tell(subject, b"?")
        return await super().write(subject, value, revision)


async def test_a_record_that_becomes_unreadable_harms_no_other(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.submit("spoilt")
    traits = Traits(queue=SpoilingQueue(world.names))
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket, traits=traits),
    ):
        await eventually(world.nothing_is_queued)
        await world.submit("good")
        await eventually(lambda: world.read("good"), lambda found: found[0].published)
    assert [each.invocation_id for each in world.executions] == ["good"]


async def test_a_framework_that_never_starts_costs_no_attempt(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.submit("patient")
    framework = RecordingFramework(world.executions)
    with tempfile.TemporaryDirectory(prefix="framework-") as folder:
        socket = Path(folder) / "framework.sock"
        async with a_worker(queue_server.admin_url, world.request_id, socket) as worker:
            only_the_framework = ["the framework does not answer"]
            await eventually(lambda: now(worker.not_ready()), only_the_framework.__eq__)
            await eventually(lambda: world.report("worker-1"))
            record, _ = await world.read("patient")
            assert (record.state, record.attempts) == (State.QUEUED, 0)
            async with serving(application(framework.handle, {}), socket):
                seen = await world.over()
            assert outcomes(seen) == {"patient": (State.SUCCEEDED, "", 1)}


@pytest.mark.parametrize("is_nudged", [True, False], ids=["nudged", "found by the heartbeat"])
async def test_a_cancelled_invocation_is_broken_off(
    queue_server: QueueServer, world: FunctionWorld, *, is_nudged: bool
) -> None:
    await world.submit("unwanted", attributes={"wait": True})
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(queue_server.admin_url, world.request_id, socket),
    ):
        await eventually(lambda: now(framework.running["unwanted"]))
        await world.cancel("unwanted", is_nudged=is_nudged)
        seen = await world.over()
        await eventually(lambda: now(framework.running["unwanted"] == 0))
    assert outcomes(seen) == {"unwanted": (State.CANCELLED, "cancelled", 1)}


async def test_a_run_that_somebody_else_has_ended_is_broken_off_by_a_nudge(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.submit("purged", attributes={"wait": True})
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(queue_server.admin_url, world.request_id, socket, traits=Traits(pace=STEADY)),
    ):
        await eventually(lambda: now(framework.running["purged"]))
        record, revision = await world.read("purged")
        await world.write("purged", transition.cancelled(record, world.clock.now()), revision)
        await world.client.publish(world.names.nudge_subject(world.request_id), b"purged")
        await eventually(lambda: now(framework.running["purged"] == 0))


async def test_a_worker_holds_no_more_than_its_slots_and_reports_them(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    for number in range(5):
        await world.submit(f"n{number}", attributes={"wait": True})
    async with (
        recording(world.executions) as (framework, socket),
        a_worker(queue_server.admin_url, world.request_id, socket, concurrency=2),
    ):
        await eventually(lambda: world.report("worker-1"), runs(2))
        info = await world.client.jetstream().consumer_info(
            world.names.invocations_stream, world.request_id
        )
        assert (info.num_ack_pending, info.num_pending) == (2, 3)
        framework.let_go.set()
        await world.over()
        await eventually(lambda: world.report("worker-1"), runs(0))
    assert framework.most_running == 2


async def test_draining_finishes_what_runs_and_takes_nothing_more(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    await world.submit("running", attributes={"wait": True})
    async with recording(world.executions) as (framework, socket):
        async with a_worker(queue_server.admin_url, world.request_id, socket) as worker:
            await eventually(lambda: now(framework.running["running"]))
            await worker.stop(0.2)  # not long enough
            await world.submit("waiting")
            record, _ = await world.read("running")
            assert (record.state, record.attempts) == (State.QUEUED, 1)
            await eventually(lambda: world.report("worker-1"), is_draining)
        framework.let_go.set()
        async with a_worker(
            queue_server.admin_url, world.request_id, socket, traits=Traits("worker-2")
        ):
            seen = await world.over()
    assert outcomes(seen) == {
        "running": (State.SUCCEEDED, "", 2),
        "waiting": (State.SUCCEEDED, "", 1),
    }


async def test_a_worker_outwaits_a_missing_consumer_and_a_missing_stream(
    queue_server: QueueServer, world: FunctionWorld
) -> None:
    js, stream = world.client.jetstream(), world.names.invocations_stream
    await js.delete_consumer(stream, world.request_id)
    async with (
        recording(world.executions) as (_, socket),
        a_worker(queue_server.admin_url, world.request_id, socket) as worker,
    ):
        await eventually(lambda: now(not worker.not_ready()))
        await js.delete_stream(stream)
        await eventually(lambda: world.report("worker-1"))
        await world.install()
        await world.submit("at-last")
        await world.over()


async def now(value: T) -> T:
    return value


def is_draining(report: WorkerReport | None) -> bool:
    return report is not None and report.draining and report.running == 0
