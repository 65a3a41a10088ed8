"""Construction of the StockPool control loop."""

from collections.abc import Iterable
from typing import Final

from controller.caches import Caches
from controller.namespaces import Namespaces
from controller.runtime import (
    ControlLoop,
    LoopFactory,
    ObjectKey,
    Priority,
    enqueue_handler,
    mapped_keys,
    own_key,
)
from controller.stockpool.reconciler import StockPoolReconciler
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import POOL_LABEL

LOOP_NAME: Final = "stockpool"
WORKERS: Final = 4


def create_control_loop(
    reconciler: StockPoolReconciler,
    caches: Caches,
    namespaces: Namespaces,
    loop_factory: LoopFactory,
) -> ControlLoop:
    """Make the loop over all pools in the caches; it is not started."""
    queue = loop_factory.new_queue(LOOP_NAME)
    caches.pools.subscribe(enqueue_handler(queue, own_key()))
    caches.units.subscribe(
        enqueue_handler(queue, mapped_keys(pool_of), Priority.CHILD), namespaces.stock
    )
    return loop_factory.new_loop(LOOP_NAME, WORKERS, queue, reconciler)


def pool_of(unit: GPUUnit) -> Iterable[ObjectKey]:
    """Return the pool that the unit was made for; also for a claimed unit, which it counts."""
    meta = unit.metadata
    name = meta.labels.get(POOL_LABEL)
    return () if name is None else (ObjectKey(meta.namespace, name),)
