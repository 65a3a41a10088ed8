"""Metrics of work queues, with the names, labels and buckets of controller-runtime."""

import itertools
import operator
from collections.abc import Hashable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.runtime.clock import Clock
from controller.runtime.queue.priority import Priority

LABELS: Final = ("name", "controller")
# Multiplied step by step, as Go does: the rounding is part of the bucket's label.
DURATION_BUCKETS: Final = tuple(itertools.accumulate([10e-9] + [10] * 11, operator.mul))


class QueueMetrics:
    """The metrics of all queues of a process."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self.clock = clock
        self.depth = Gauge(
            "workqueue_depth",
            "Keys that were added and not handed out yet.",
            (*LABELS, "priority"),
            registry=registry,
        )
        self.adds = Counter(
            "workqueue_adds",
            "Keys that were added, without repetitions.",
            LABELS,
            registry=registry,
        )
        self.retries = Counter(
            "workqueue_retries",
            "Keys that were added with a delay.",
            LABELS,
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds from adding a key to handing it out.",
            LABELS,
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self.work_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds from handing a key out to its return.",
            LABELS,
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self.unfinished_seconds = Gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds since their hand-out, summed over all keys that workers have.",
            LABELS,
            registry=registry,
        )
        self.oldest_work_seconds = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Seconds since the hand-out of the key that a worker has had for longest.",
            LABELS,
            registry=registry,
        )


class QueueMetricsObserver:
    """Updates the metrics of one queue; ages are computed when the metrics are read."""

    def __init__(self, metrics: QueueMetrics, name: str) -> None:
        self._clock = metrics.clock
        self._depth = {
            priority: metrics.depth.labels(name, name, str(int(priority))) for priority in Priority
        }
        self._adds = metrics.adds.labels(name, name)
        self._retries = metrics.retries.labels(name, name)
        self._queue_seconds = metrics.queue_seconds.labels(name, name)
        self._work_seconds = metrics.work_seconds.labels(name, name)
        self._added_at: dict[Hashable, float] = {}
        self._handed_out_at: dict[Hashable, float] = {}
        metrics.unfinished_seconds.labels(name, name).set_function(self.unfinished_seconds)
        metrics.oldest_work_seconds.labels(name, name).set_function(self.oldest_work_seconds)

    def added(self, key: Hashable, priority: Priority) -> None:
        """Count an added key."""
        self._adds.inc()
        self._depth[priority].inc()
        self._added_at[key] = self._clock.monotonic()

    def priority_raised(self, old: Priority, new: Priority) -> None:
        """Move the key to its new priority in the depth."""
        self._depth[old].dec()
        self._depth[new].inc()

    def handed_out(self, key: Hashable, priority: Priority) -> None:
        """Observe the time for which the key waited."""
        now = self._handed_out_at[key] = self._clock.monotonic()
        self._depth[priority].dec()
        self._queue_seconds.observe(now - self._added_at.pop(key))

    def finished(self, key: Hashable) -> None:
        """Observe the time for which a worker had the key."""
        self._work_seconds.observe(self._clock.monotonic() - self._handed_out_at.pop(key))

    def delayed(self) -> None:
        """Count a retry."""
        self._retries.inc()

    def unfinished_seconds(self) -> float:
        """Return the sum of the ages of all keys that workers have."""
        now = self._clock.monotonic()
        return sum((now - handed_out_at for handed_out_at in self._handed_out_at.values()), 0.0)

    def oldest_work_seconds(self) -> float:
        """Return the age of the key that a worker has had for longest."""
        now = self._clock.monotonic()
        return max(
            (now - handed_out_at for handed_out_at in self._handed_out_at.values()), default=0.0
        )
