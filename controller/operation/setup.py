"""The control loop of the records: what wakes it and what it may do."""

from random import Random
from typing import Final

from controller.caches import Caches
from controller.operation.reconciler import OperationReconciler
from controller.runtime.clock import Clock
from controller.runtime.control_loop import ControlLoop, LoopOptions
from controller.runtime.feed import feed
from controller.runtime.key import ObjectKey
from controller.runtime.loop_metrics import LoopMetrics, MeasuredLoop
from controller.runtime.ratelimit import default_rate_limiter
from controller.runtime.triggers import itself
from controller.runtime.workqueue import WorkQueue
from shared.rbac import Rule
from shared.v1alpha1 import operation
from shared.v1alpha1.group import GROUP

NAME: Final = "operation"
SYSTEM: Final = "runtime-system"

RULES: Final = (Rule(GROUP, (operation.PLURAL,), ("delete", "list", "patch", "watch"), SYSTEM),)


def control_loop(
    reconciler: OperationReconciler,
    caches: Caches,
    metrics: LoopMetrics,
    clock: Clock,
    randomness: Random,
) -> ControlLoop:
    """A loop over the records that the caches know, not yet started."""
    queue: WorkQueue[ObjectKey] = WorkQueue(default_rate_limiter(clock), clock)
    caches.operations.subscribe(feed(queue, itself()))
    options, measured = LoopOptions(NAME, workers=2), MeasuredLoop(metrics, NAME)
    return ControlLoop(options, queue, reconciler, measured, clock, randomness)
