"""What Prometheus is told of what waits and of dead letters, and when."""

from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.clock import SystemClock
from serverless.activator.metrics import FunctionCensus, Measures
from serverless.activator.queue_depths import Depths
from serverless.activator.sweep.function_existence import Homes
from serverless.activator.sweep.invocation_store import Records
from serverless.activator.sweep.settle import Settling
from serverless.activator.sweep.sweep import Sweep
from serverless.activator.timestamps import now_ms
from serverless.nats.requests import JetStream
from serverless.nats.stored_message import Stored
from shared.invocation import record, transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import Request

NAMES = QueueNames()


class PlayedQueue:
    """Two functions, of which one has dead letters, as one that is gone has.

    An invocation of the one waits, one of the other has waited and runs.
    """

    async def ask(self, subject: str, _: object = None) -> dict[str, Any]:
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

    async def page(self, _: str, __: str, sequence: int, *___: int) -> list[Stored]:
        now = now_ms(SystemClock())
        waiting = transition.accepted(Request(), "uid", "hash", now)
        running = transition.begun(waiting, "w", 1, now)
        changes = [("quiet", waiting), ("failing", waiting), ("failing", running)]
        return [
            Stored(NAMES.record_subject(f"{name}.i"), number, now, record.encode(change))
            for number, (name, change) in enumerate(changes, start=1)
            if number >= sequence
        ]


class NoHomes:
    """Nothing is open, so nobody is asked where it belongs."""

    def look_anew(self) -> None:
        pass

    def is_gone(self, *_: object) -> bool:
        return False


class Activator:
    """As much of one as counts."""

    def __init__(self, *, leads: bool = True) -> None:
        queue, clock = cast("JetStream", PlayedQueue()), SystemClock()
        records, self.registry = Records(queue, NAMES), CollectorRegistry()
        measures, homes = Measures(self.registry), cast("Homes", NoHomes())
        self.depths = Depths(queue, NAMES.invocations_stream, lambda _: None)
        self.sweep = Sweep(records, Settling(records, measures.settling, clock), homes, clock)
        census = FunctionCensus(self.depths, self.sweep, measures, lambda: leads, clock)
        self.registry.register(census)

    def letters(self, function: str) -> float | None:
        return self._told("gpuruntime_dead_letters", function)

    def oldest_seconds(self, function: str) -> float | None:
        return self._told("gpuruntime_function_oldest_seconds", function)

    def _told(self, metric: str, function: str) -> float | None:
        return self.registry.get_sample_value(metric, {"function": function})


async def test_what_runs_does_not_wait() -> None:
    activator = Activator()
    await activator.sweep.round()

    assert activator.oldest_seconds("quiet") is not None
    assert activator.oldest_seconds("failing") is None


async def test_a_function_without_dead_letters_has_none_so_that_the_first_is_seen_to_come() -> None:
    activator = Activator()
    await activator.depths.look()
    await activator.sweep.round()

    assert [activator.letters(name) for name in ("quiet", "failing", "gone")] == [0, 2, 7]


async def test_nothing_is_said_before_somebody_has_looked_for_dead_letters() -> None:
    activator = Activator()
    await activator.depths.look()

    assert activator.letters("failing") is None, "a 0 here would tell of new ones a moment later"


@pytest.mark.parametrize("function", ["quiet", "failing"])
async def test_who_does_not_lead_counts_nothing(function: str) -> None:
    activator = Activator(leads=False)
    await activator.depths.look()
    await activator.sweep.round()

    assert activator.letters(function) is None
