"""The metrics of functions; only the leader exports values."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.runtime import Clock
from serverless.activator.queue_depths import QueueDepths
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.sweep.metrics import SettleMetrics
from serverless.activator.sweep.sweep import Sweep
from shared.time import now_ms

COLD_START_BUCKETS: Final = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


class FunctionMetrics:
    """The worker counts of the last reconciles, settled invocations and cold starts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.workers: dict[str, Counter[str]] = {}
        self.settle_metrics = SettleMetrics(registry)
        self.cold_start_seconds = Histogram(
            "gpuruntime_function_cold_start_seconds",
            "Seconds from the acceptance of an invocation without a ready worker to its run.",
            buckets=COLD_START_BUCKETS,
            registry=registry,
        )

    def observe_workers(self, function_name: str, snapshot: ScalingSnapshot) -> None:
        """Count the workers of a function by state."""
        self.workers[function_name] = Counter(
            worker.state.name.lower() for worker in snapshot.workers
        )

    def forget(self, function_name: str) -> None:
        """Drop the counts of a deleted function."""
        self.workers.pop(function_name, None)


class FunctionCollector(Collector):
    """Exports queue depths, workers, ages and dead letters by function."""

    def __init__(
        self,
        queue_depths: QueueDepths,
        sweep: Sweep,
        metrics: FunctionMetrics,
        is_leader: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._queue_depths = queue_depths
        self._sweep = sweep
        self._metrics = metrics
        self._is_leader = is_leader
        self._clock = clock

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield all families, also while there are no values."""
        loads = {name: consumer.load for name, consumer in self._queue_depths.get_all().items()}
        now = now_ms(self._clock)
        yield self._by_function(
            "queue_depth", "Queued invocations.", {k: v.queued for k, v in loads.items()}
        )
        yield self._by_function(
            "running", "Running invocations.", {k: v.running for k, v in loads.items()}
        )
        ages = {k: (now - at) / 1000 for k, at in self._sweep.oldest_queued_times().items()}
        yield self._by_function("oldest_seconds", "Age of the oldest queued one in seconds.", ages)
        yield self._workers()
        yield self._dead_letters()
        yield self._records_used()

    def _by_function(
        self, name: str, help_text: str, values: dict[str, float]
    ) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"gpuruntime_function_{name}", help_text, labels=["function"])
        for function, value in values.items() if self._is_leader() else ():
            family.add_metric([function], value)
        return family

    def _workers(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "gpuruntime_function_workers", "Workers by state.", labels=["function", "state"]
        )
        for function, counts in self._metrics.workers.items() if self._is_leader() else ():
            for state, count in counts.items():
                family.add_metric([function, state], count)
        return family

    def _dead_letters(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "gpuruntime_dead_letters", "Dead letters in the stream.", labels=["function"]
        )
        counts = self._sweep.dead_letter_counts
        if counts is not None and self._is_leader():
            for function, count in (
                dict.fromkeys(self._queue_depths.get_all(), 0) | counts
            ).items():
                family.add_metric([function], count)
        return family

    def _records_used(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "gpuruntime_invocation_records_used_ratio", "Used share of the room for records."
        )
        if self._is_leader():
            family.add_metric([], self._sweep.records_used_ratio)
        return family
