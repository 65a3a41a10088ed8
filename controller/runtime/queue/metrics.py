"""Metrics of work queues with the names, labels and buckets of controller-runtime."""

import itertools
import operator
from collections.abc import Hashable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.runtime.clock import Clock
from controller.runtime.queue.priority import Priority

LABELS: Final = ("name", "controller")
# Multiplied step by step as Go does it: the rounding is part of the bucket's label.
SECONDS: Final = tuple(itertools.accumulate([10e-9] + [10] * 11, operator.mul))


class QueueMetrics:
    """The series of all queues of a process."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self.clock = clock
        self.depth = Gauge(
            "workqueue_depth",
            "Keys that were asked for and not handed out yet.",
            (*LABELS, "priority"),
            registry=registry,
        )
        self.adds = Counter(
            "workqueue_adds",
            "Keys asked for, without repetitions.",
            LABELS,
            registry=registry,
        )
        self.retries = Counter(
            "workqueue_retries",
            "Keys asked for at a later time.",
            LABELS,
            registry=registry,
        )
        self.waiting = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds from asking for a key to handing it out.",
            LABELS,
            buckets=SECONDS,
            registry=registry,
        )
        self.working = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds from handing a key out to getting it back.",
            LABELS,
            buckets=SECONDS,
            registry=registry,
        )
        self.unfinished = Gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds that the keys handed out now have taken so far, together.",
            LABELS,
            registry=registry,
        )
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Seconds that the key handed out first of them has taken so far.",
            LABELS,
            registry=registry,
        )


class MeasuredQueue:
    """Observes one queue; ages of running work are only computed when somebody asks."""

    def __init__(self, metrics: QueueMetrics, name: str) -> None:
        self._clock = metrics.clock
        self._depth = {
            priority: metrics.depth.labels(name, name, str(int(priority))) for priority in Priority
        }
        self._adds = metrics.adds.labels(name, name)
        self._retries = metrics.retries.labels(name, name)
        self._waiting = metrics.waiting.labels(name, name)
        self._working = metrics.working.labels(name, name)
        self._added_at: dict[Hashable, float] = {}
        self._taken_at: dict[Hashable, float] = {}
        metrics.unfinished.labels(name, name).set_function(self.unfinished)
        metrics.longest.labels(name, name).set_function(self.longest)

    def added(self, key: Hashable, priority: Priority) -> None:
        """Count the key in."""
        self._adds.inc()
        self._depth[priority].inc()
        self._added_at[key] = self._clock.monotonic()

    def raised(self, old: Priority, new: Priority) -> None:
        """Count the key where it is now."""
        self._depth[old].dec()
        self._depth[new].inc()

    def taken(self, key: Hashable, priority: Priority) -> None:
        """Observe how long the key waited."""
        now = self._taken_at[key] = self._clock.monotonic()
        self._depth[priority].dec()
        self._waiting.observe(now - self._added_at.pop(key))

    def finished(self, key: Hashable) -> None:
        """Observe how long the key was worked on."""
        self._working.observe(self._clock.monotonic() - self._taken_at.pop(key))

    def delayed(self) -> None:
        """Count a retry."""
        self._retries.inc()

    def unfinished(self) -> float:
        """The ages of all running work together."""
        now = self._clock.monotonic()
        return sum((now - taken for taken in self._taken_at.values()), 0.0)

    def longest(self) -> float:
        """The age of the oldest running work."""
        now = self._clock.monotonic()
        return max((now - taken for taken in self._taken_at.values()), default=0.0)
