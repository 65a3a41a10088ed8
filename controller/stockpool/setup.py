"""How StockPools are watched and worked on."""

from collections.abc import Iterable
from typing import Final

from controller.caches import Caches
from controller.namespaces import Namespaces
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop
from controller.runtime.loop.enqueue import feed
from controller.runtime.loop.loop_factory import Loops
from controller.runtime.loop.triggers import itself, mapped
from controller.runtime.queue.priority import Priority
from controller.stockpool.reconciler import StockPoolReconciler
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import POOL_LABEL

NAME: Final = "stockpool"
WORKERS: Final = 4


def control_loop(
    subject: StockPoolReconciler, caches: Caches, namespaces: Namespaces, loops: Loops
) -> ControlLoop:
    """A loop over all pools that the caches know, not yet started."""
    queue = loops.queue(NAME)
    caches.pools.subscribe(feed(queue, itself()))
    caches.units.subscribe(feed(queue, mapped(pool_of), Priority.CHILD), namespaces.stock)
    return loops.loop(NAME, WORKERS, queue, subject)


def pool_of(unit: GPUUnit) -> Iterable[ObjectKey]:
    """The pool that the unit was made for; also of a claimed one, which is counted."""
    meta = unit.metadata
    name = meta.labels.get(POOL_LABEL)
    return () if name is None else (ObjectKey(meta.namespace, name),)
