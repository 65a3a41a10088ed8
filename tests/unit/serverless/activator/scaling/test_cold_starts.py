"""Tests of cold starts: the wait of an invocation without a worker, even for a short run."""

from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from serverless.activator.metrics import FunctionMetrics
from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.cold_starts import ColdStartTimer
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.scaling.snapshot import ScalingState
from serverless.activator.sweep.invocation_store import InvocationStore
from serverless.nats.stored_message import StoredMessage
from shared.invocation import record as codec
from shared.invocation import transition
from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import InvocationState
from shared.v1alpha1.function import FunctionSpec

ACCEPTED = transition.new_record(InvocationRequest(), "uid", "hash", 10_000)
RUNNING = transition.attempt_started(ACCEPTED, "w1", 1, 14_500)
SUCCEEDED = transition.finished(RUNNING, InvocationState.SUCCEEDED, InvocationResult(), 14_510)
EXPIRED = transition.expired(ACCEPTED, 20_000)
TRIED_AGAIN = transition.attempt_started(transition.requeued(RUNNING), "w2", 2, 60_000)
SPEC = FunctionSpec(spec_name="g1", image="i")


class PlayedRecords:
    """Queue of a function whose first invocation is `first`; counts its calls."""

    def __init__(self) -> None:
        self.first: InvocationRecord | None = ACCEPTED
        self.asked = 0

    async def oldest_queued_key(self, _: str) -> str | None:
        self.asked += 1
        return "echo.first"

    async def get_record(self, key: str) -> StoredMessage | None:
        self.asked += 1
        assert key == "echo.first"
        return (
            None
            if self.first is None
            else StoredMessage(key, 1, 0, codec.encode_record(self.first))
        )


class Activator:
    """Activator's view of one function, poll by poll."""

    def __init__(self) -> None:
        self.records, self.memory, self._registry = (
            PlayedRecords(),
            ScalingState(),
            CollectorRegistry(),
        )
        measures = FunctionMetrics(self._registry)
        self._cold_starts = ColdStartTimer(
            cast(InvocationStore, self.records), measures.cold_start_seconds
        )

    async def sees(self, queued: int, running: int, *states: WorkerState) -> None:
        workers = tuple(
            ObservedWorker(f"w{number}", number, each) for number, each in enumerate(states)
        )
        scene = ScalingSnapshot(spec=SPEC, load=QueueLoad(queued, running), workers=workers, now=0)
        await self._cold_starts.observe("echo", scene, self.memory)

    def measured(self) -> tuple[float | None, float | None]:
        """Return the number of cold starts, and the sum of their seconds."""
        name = "gpuruntime_function_cold_start_seconds"
        told = self._registry.get_sample_value
        return told(f"{name}_count"), told(f"{name}_sum")


async def test_a_run_that_ended_between_polls_is_measured_from_its_acceptance() -> None:
    activator = Activator()
    await activator.sees(1, 0)
    await activator.sees(1, 0, WorkerState.STARTING)
    activator.records.first = SUCCEEDED
    await activator.sees(0, 0, WorkerState.READY)
    assert activator.measured() == (1, 4.5)


async def test_a_start_is_measured_once_however_often_it_is_looked_at() -> None:
    activator = Activator()
    await activator.sees(2, 0)
    activator.records.first = RUNNING
    for _ in range(3):
        await activator.sees(1, 1, WorkerState.READY)
    assert activator.measured() == (1, 4.5)


async def test_a_message_that_was_taken_a_moment_ago_is_waited_for() -> None:
    activator = Activator()
    await activator.sees(1, 0)
    await activator.sees(0, 1, WorkerState.READY)
    assert activator.measured() == (0, 0)
    activator.records.first = SUCCEEDED
    await activator.sees(0, 0, WorkerState.READY)
    assert activator.measured() == (1, 4.5)


@pytest.mark.parametrize("end", [EXPIRED, TRIED_AGAIN, None], ids=["expired", "again", "no record"])
async def test_a_cold_start_without_a_first_run_is_forgotten(end: InvocationRecord | None) -> None:
    activator = Activator()
    await activator.sees(1, 0)
    activator.records.first = end
    await activator.sees(0, 0)
    assert activator.measured() == (0, 0)
    assert activator.memory == ScalingState()


async def test_no_record_is_read_while_workers_are_ready() -> None:
    activator = Activator()
    await activator.sees(0, 0)
    await activator.sees(3, 0, WorkerState.READY)
    await activator.sees(2, 1, WorkerState.READY)
    await activator.sees(0, 0, WorkerState.READY)
    assert activator.records.asked == 0


async def test_one_record_is_read_while_the_worker_starts() -> None:
    activator = Activator()
    for _ in range(5):
        await activator.sees(3, 0, WorkerState.STARTING)
    assert activator.records.asked == 1
