"""Tests of the metrics of waiting invocations and dead letters, and when they are exported."""

from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.clock import SystemClock
from serverless.activator.metrics import FunctionCollector, FunctionMetrics
from serverless.activator.queue_depths import QueueDepths
from serverless.activator.sweep.function_existence import FunctionExistence
from serverless.activator.sweep.invocation_store import InvocationStore
from serverless.activator.sweep.settle import RecordSettler
from serverless.activator.sweep.sweep import Sweep
from serverless.nats.requests import JetStreamClient
from serverless.nats.stored_message import StoredMessage
from shared.invocation import record, transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRequest
from shared.time import now_ms

NAMES = QueueNames()


class FakeJetStream:
    """Queue with two functions, of which one has dead letters, as does a deleted function.

    An invocation of one function waits; an invocation of the other has waited and now runs.
    """

    async def call_api(self, subject: str, _: object = None) -> dict[str, Any]:
        if subject.startswith("CONSUMER.LIST."):
            consumers: list[dict[str, Any]] = [
                {"name": name, "num_pending": 0, "num_ack_pending": 0, "config": {}}
                for name in ("quiet", "failing")
            ]
            return {"consumers": consumers, "total": len(consumers)}
        counts = {"failing": 2, "gone": 7}
        subjects = {NAMES.dead_letter_subject(name): count for name, count in counts.items()}
        state = {"last_seq": 0, "bytes": 0, "subjects": subjects}
        return {"state": state, "config": {"max_bytes": -1}}

    async def read_page(self, _: str, __: str, sequence: int, *___: int) -> list[StoredMessage]:
        now = now_ms(SystemClock())
        waiting = transition.new_record(InvocationRequest(), "uid", "hash", now)
        running = transition.attempt_started(waiting, "w", 1, now)
        changes = [("quiet", waiting), ("failing", waiting), ("failing", running)]
        return [
            StoredMessage(
                NAMES.record_subject(f"{name}.i"), number, now, record.encode_record(change)
            )
            for number, (name, change) in enumerate(changes, start=1)
            if number >= sequence
        ]


class AllExist:
    """Function existence check that finds every function."""

    def forget_live_reads(self) -> None:
        pass

    def is_missing_in_cache(self, *_: object) -> bool:
        return False


class Activator:
    """Activator with only the parts that the metrics need."""

    def __init__(self, *, is_leader: bool = True) -> None:
        queue, clock = cast("JetStreamClient", FakeJetStream()), SystemClock()
        store, self.registry = InvocationStore(queue, NAMES), CollectorRegistry()
        metrics, existence = FunctionMetrics(self.registry), cast("FunctionExistence", AllExist())
        self.depths = QueueDepths(queue, NAMES.invocations_stream, lambda _: None)
        self.sweep = Sweep(
            store, RecordSettler(store, metrics.settle_metrics, clock), existence, clock
        )
        collector = FunctionCollector(self.depths, self.sweep, metrics, lambda: is_leader, clock)
        self.registry.register(collector)

    def dead_letters(self, function: str) -> float | None:
        return self._sample("gpuruntime_dead_letters", function)

    def oldest_seconds(self, function: str) -> float | None:
        return self._sample("gpuruntime_function_oldest_seconds", function)

    def _sample(self, metric: str, function: str) -> float | None:
        return self.registry.get_sample_value(metric, {"function": function})


async def test_running_invocations_do_not_count_as_waiting() -> None:
    activator = Activator()
    await activator.sweep.run_round()

    assert activator.oldest_seconds("quiet") is not None
    assert activator.oldest_seconds("failing") is None


async def test_a_function_without_dead_letters_has_a_zero_metric() -> None:
    activator = Activator()
    await activator.depths.refresh()
    await activator.sweep.run_round()

    assert [activator.dead_letters(name) for name in ("quiet", "failing", "gone")] == [0, 2, 7]


async def test_there_is_no_dead_letter_metric_before_the_first_sweep() -> None:
    activator = Activator()
    await activator.depths.refresh()

    assert activator.dead_letters("failing") is None, "a 0 would make old letters look new"


@pytest.mark.parametrize("function", ["quiet", "failing"])
async def test_an_activator_that_does_not_lead_has_no_function_metrics(function: str) -> None:
    activator = Activator(is_leader=False)
    await activator.depths.refresh()
    await activator.sweep.run_round()

    assert activator.dead_letters(function) is None
