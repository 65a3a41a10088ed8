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
RETRIED = transition.attempt_started(transition.requeued(RUNNING), "w2", 2, 60_000)
SPEC = FunctionSpec(spec_name="g1", image="i")


class FakeInvocationStore:
    """Queue of a function whose first invocation is `first`; counts its calls."""

    def __init__(self) -> None:
        self.first: InvocationRecord | None = ACCEPTED
        self.call_count = 0

    async def oldest_queued_key(self, _: str) -> str | None:
        self.call_count += 1
        return "echo.first"

    async def get_record(self, key: str) -> StoredMessage | None:
        self.call_count += 1
        assert key == "echo.first"
        return (
            None
            if self.first is None
            else StoredMessage(key, 1, 0, codec.encode_record(self.first))
        )


class ColdStartPolls:
    """Cold start timer of one function, called once a poll."""

    def __init__(self) -> None:
        self.store, self.scaling_state = FakeInvocationStore(), ScalingState()
        self._registry = CollectorRegistry()
        metrics = FunctionMetrics(self._registry)
        self._timer = ColdStartTimer(cast(InvocationStore, self.store), metrics.cold_start_seconds)

    async def poll(self, queued: int, running: int, *states: WorkerState) -> None:
        workers = tuple(
            ObservedWorker(f"w{number}", number, state) for number, state in enumerate(states)
        )
        snapshot = ScalingSnapshot(
            spec=SPEC, load=QueueLoad(queued, running), workers=workers, now=0
        )
        await self._timer.observe("echo", snapshot, self.scaling_state)

    def metric(self) -> tuple[float | None, float | None]:
        """Return the number of cold starts, and the sum of their seconds."""
        name = "gpuruntime_function_cold_start_seconds"
        get_sample = self._registry.get_sample_value
        return get_sample(f"{name}_count"), get_sample(f"{name}_sum")


async def test_a_run_that_ended_between_polls_is_measured_from_its_acceptance() -> None:
    polls = ColdStartPolls()
    await polls.poll(1, 0)
    await polls.poll(1, 0, WorkerState.STARTING)
    polls.store.first = SUCCEEDED
    await polls.poll(0, 0, WorkerState.READY)
    assert polls.metric() == (1, 4.5)


async def test_a_cold_start_is_measured_once_over_several_polls() -> None:
    polls = ColdStartPolls()
    await polls.poll(2, 0)
    polls.store.first = RUNNING
    for _ in range(3):
        await polls.poll(1, 1, WorkerState.READY)
    assert polls.metric() == (1, 4.5)


async def test_a_record_that_is_still_queued_is_read_again_at_the_next_poll() -> None:
    polls = ColdStartPolls()
    await polls.poll(1, 0)
    await polls.poll(0, 1, WorkerState.READY)
    assert polls.metric() == (0, 0)
    polls.store.first = SUCCEEDED
    await polls.poll(0, 0, WorkerState.READY)
    assert polls.metric() == (1, 4.5)


@pytest.mark.parametrize("end", [EXPIRED, RETRIED, None], ids=["expired", "retried", "no record"])
async def test_a_cold_start_without_a_first_run_is_forgotten(end: InvocationRecord | None) -> None:
    polls = ColdStartPolls()
    await polls.poll(1, 0)
    polls.store.first = end
    await polls.poll(0, 0)
    assert polls.metric() == (0, 0)
    assert polls.scaling_state == ScalingState()


async def test_no_record_is_read_while_workers_are_ready() -> None:
    polls = ColdStartPolls()
    await polls.poll(0, 0)
    await polls.poll(3, 0, WorkerState.READY)
    await polls.poll(2, 1, WorkerState.READY)
    await polls.poll(0, 0, WorkerState.READY)
    assert polls.store.call_count == 0


async def test_one_record_is_read_while_the_worker_starts() -> None:
    polls = ColdStartPolls()
    for _ in range(5):
        await polls.poll(3, 0, WorkerState.STARTING)
    assert polls.store.call_count == 1
