"""How long an invocation has waited that no worker was there for, however short its run is."""

from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from serverless.activator.metrics import Measures
from serverless.activator.scaling.cold_starts import ColdStarts
from serverless.activator.scaling.observed_worker import Worker, WorkerState
from serverless.activator.scaling.plan import Load, Scene
from serverless.activator.scaling.snapshot import Memory
from serverless.activator.sweep.invocation_store import Records
from serverless.nats.stored_message import Stored
from shared.invocation import record as codec
from shared.invocation import transition
from shared.invocation.record import Record, Request, Result
from shared.invocation.state import State
from shared.v1alpha1.function import FunctionSpec

ACCEPTED = transition.accepted(Request(), "uid", "hash", 10_000)
RUNNING = transition.begun(ACCEPTED, "w1", 1, 14_500)
SUCCEEDED = transition.finished(RUNNING, State.SUCCEEDED, Result(), 14_510)
EXPIRED = transition.expired(ACCEPTED, 20_000)
TRIED_AGAIN = transition.begun(transition.released(RUNNING), "w2", 2, 60_000)
SPEC = FunctionSpec(spec_name="g1", image="i")


class PlayedRecords:
    """The queue of a function whose first invocation is `first`; counts what is asked."""

    def __init__(self) -> None:
        self.first: Record | None = ACCEPTED
        self.asked = 0

    async def first_queued(self, _: str) -> str | None:
        self.asked += 1
        return "echo.first"

    async def latest(self, key: str) -> Stored | None:
        self.asked += 1
        assert key == "echo.first"
        return None if self.first is None else Stored(key, 1, 0, codec.encode(self.first))


class Activator:
    """What an activator sees of one function, look by look."""

    def __init__(self) -> None:
        self.records, self.memory, self._registry = PlayedRecords(), Memory(), CollectorRegistry()
        measures = Measures(self._registry)
        self._cold_starts = ColdStarts(cast(Records, self.records), measures.cold_start_seconds)

    async def sees(self, queued: int, running: int, *states: WorkerState) -> None:
        workers = tuple(Worker(f"w{number}", number, each) for number, each in enumerate(states))
        scene = Scene(spec=SPEC, load=Load(queued, running), workers=workers, now=0)
        await self._cold_starts.follow("echo", scene, self.memory)

    def measured(self) -> tuple[float | None, float | None]:
        """How many there were, and their seconds together."""
        name = "gpuruntime_function_cold_start_seconds"
        told = self._registry.get_sample_value
        return told(f"{name}_count"), told(f"{name}_sum")


async def test_a_run_that_was_over_before_anybody_looked_is_measured_from_its_acceptance() -> None:
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
async def test_what_has_no_first_run_to_tell_of_is_forgotten(end: Record | None) -> None:
    activator = Activator()
    await activator.sees(1, 0)
    activator.records.first = end
    await activator.sees(0, 0)
    assert activator.measured() == (0, 0)
    assert activator.memory == Memory()


async def test_nothing_is_asked_while_work_finds_its_worker() -> None:
    activator = Activator()
    await activator.sees(0, 0)
    await activator.sees(3, 0, WorkerState.READY)
    await activator.sees(2, 1, WorkerState.READY)
    await activator.sees(0, 0, WorkerState.READY)
    assert activator.records.asked == 0


async def test_little_is_asked_while_the_worker_is_on_its_way() -> None:
    activator = Activator()
    for _ in range(5):
        await activator.sees(3, 0, WorkerState.STARTING)
    assert activator.records.asked == 1
