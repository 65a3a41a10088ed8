"""Control loops with the process's clock and metrics."""

from random import Random
from typing import Final

from prometheus_client import CollectorRegistry

from controller.runtime.clock import Clock
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop, LoopOptions
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.loop.reconcile import Reconciler
from controller.runtime.queue.metrics import QueueMetrics, QueueMetricsObserver
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.workqueue import WorkQueue

# What we wait for may be mended where we do not see it, such as a quota.
MIN_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 30.0


class LoopFactory:
    """Makes the queue and the loop of each kind; one a process, because of the metrics."""

    def __init__(self, registry: CollectorRegistry, clock: Clock, rng: Random) -> None:
        self._loop_metrics = LoopMetrics(registry)
        self._queue_metrics = QueueMetrics(registry, clock)
        self._clock = clock
        self._rng = rng

    def new_queue(self, name: str) -> WorkQueue[ObjectKey]:
        """The queue of the loop of that name."""
        limiter = ExponentialBackoff[ObjectKey](MIN_RETRY_SECONDS, MAX_RETRY_SECONDS)
        return WorkQueue(limiter, self._clock, QueueMetricsObserver(self._queue_metrics, name))

    def new_loop(
        self, name: str, workers: int, queue: WorkQueue[ObjectKey], reconciler: Reconciler
    ) -> ControlLoop:
        """A loop over `queue`, not yet started."""
        measured = LabelledLoopMetrics(self._loop_metrics, name)
        options = LoopOptions(name, workers=workers)
        return ControlLoop(options, queue, reconciler, measured, self._clock, self._rng)
