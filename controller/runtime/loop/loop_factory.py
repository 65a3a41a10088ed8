"""Creates the queues and control loops of a process, with its clock and metrics."""

from random import Random

from prometheus_client import CollectorRegistry

from controller.runtime.clock import TimerClock
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import RECONCILE_TIMEOUT_SECONDS, ControlLoop, LoopOptions
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.loop.reconcile import Reconciler
from controller.runtime.queue.metrics import QueueMetrics, QueueMetricsObserver
from controller.runtime.queue.ratelimit import RateLimiter
from controller.runtime.queue.workqueue import WorkQueue


class LoopFactory:
    """Creates the queue and the loop of each controller; one per process, for the metrics."""

    def __init__(self, registry: CollectorRegistry, clock: TimerClock, rng: Random) -> None:
        self._loop_metrics = LoopMetrics(registry)
        self._queue_metrics = QueueMetrics(registry, clock)
        self._clock = clock
        self._rng = rng

    def new_queue(self, name: str, rate_limiter: RateLimiter[ObjectKey]) -> WorkQueue[ObjectKey]:
        """Create the queue of the loop `name`."""
        return WorkQueue(rate_limiter, self._clock, QueueMetricsObserver(self._queue_metrics, name))

    def new_loop(
        self,
        name: str,
        workers: int,
        queue: WorkQueue[ObjectKey],
        reconciler: Reconciler,
        reconcile_timeout_seconds: float = RECONCILE_TIMEOUT_SECONDS,
    ) -> ControlLoop:
        """Create the loop `name` over `queue`, not yet started."""
        metrics = LabelledLoopMetrics(self._loop_metrics, name)
        options = LoopOptions(name, workers, reconcile_timeout_seconds)
        return ControlLoop(options, queue, reconciler, metrics, self._clock, self._rng)
