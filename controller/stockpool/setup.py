"""The control loop of the pools: what wakes it and what it may do."""

from collections.abc import Iterable
from random import Random
from typing import Final

from controller.caches import Caches
from controller.runtime.clock import Clock
from controller.runtime.control_loop import ControlLoop, LoopOptions
from controller.runtime.feed import feed
from controller.runtime.key import ObjectKey
from controller.runtime.loop_metrics import LoopMetrics, MeasuredLoop
from controller.runtime.priority import Priority
from controller.runtime.ratelimit import ExponentialBackoff
from controller.runtime.triggers import itself, mapped
from controller.runtime.workqueue import WorkQueue
from controller.stockpool.reconciler import StockPoolReconciler
from shared.rbac import Rule
from shared.v1alpha1 import gpuunit, stockpool
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import GROUP
from shared.wellknown import POOL_LABEL

NAME: Final = "stockpool"
STOCK: Final = "runtime-stock"

RULES: Final = (
    Rule(GROUP, (stockpool.PLURAL,), ("get", "list", "watch"), STOCK),
    Rule(GROUP, (f"{stockpool.PLURAL}/status",), ("patch",), STOCK),
    # An owner that its units keep from going, where the cluster is strict about who may say so.
    Rule(GROUP, (f"{stockpool.PLURAL}/finalizers",), ("update",), STOCK),
    Rule(GROUP, (gpuunit.PLURAL,), ("create", "delete", "list", "watch"), STOCK),
    Rule("events.k8s.io", ("events",), ("create", "patch"), STOCK),
)

# A quota is raised where we do not see it: a pool that waits for one asks twice a minute.
RETRY_SECONDS: Final = (0.05, 30.0)


def control_loop(
    reconciler: StockPoolReconciler,
    caches: Caches,
    stock_namespace: str,
    metrics: LoopMetrics,
    clock: Clock,
    randomness: Random,
) -> ControlLoop:
    """A loop over the pools that the caches know, not yet started."""
    queue = WorkQueue(ExponentialBackoff[ObjectKey](*RETRY_SECONDS), clock)
    caches.pools.subscribe(feed(queue, itself()))
    caches.units.subscribe(feed(queue, mapped(pool_of), Priority.CHILD), stock_namespace)
    options, measured = LoopOptions(NAME, workers=4), MeasuredLoop(metrics, NAME)
    return ControlLoop(options, queue, reconciler, measured, clock, randomness)


def pool_of(unit: GPUUnit) -> Iterable[ObjectKey]:
    """The pool that the unit was made for; also of a claimed one, which is counted."""
    meta = unit.metadata
    name = meta.labels.get(POOL_LABEL)
    return () if name is None else (ObjectKey(meta.namespace, name),)
