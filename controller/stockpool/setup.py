"""Construction of the StockPool controller: its reconciler, and what triggers it."""

from collections.abc import Iterable
from typing import Final

from controller.caches import Caches
from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.namespaces import Namespaces
from controller.runtime import ControllerBuilder, Manager, ObjectKey
from controller.stockpool.reconciler import StockPoolReconciler
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.wellknown import POOL_LABEL

CONTROLLER_NAME: Final = "stockpool"
WORKERS: Final = 4


def setup_with_manager(manager: Manager, caches: Caches, namespaces: Namespaces) -> None:
    """Declare the controller of pools."""
    controller = manager.controller(CONTROLLER_NAME)
    add_triggers(controller, namespaces)
    reconciler = StockPoolReconciler(
        caches, manager.client, manager.writer, manager.recorder, manager.clock
    )
    controller.reconcile(reconciler, WORKERS)


def add_triggers(controller: ControllerBuilder, namespaces: Namespaces) -> None:
    """Reconcile a pool when it changes, or one of its units."""
    controller.for_(STOCK_POOLS, EventReason.FAILED)
    controller.watches(GPU_UNITS, pool_of, namespace=namespaces.stock)


def pool_of(unit: GPUUnit) -> Iterable[ObjectKey]:
    """Return the pool that the unit was made for; also for a claimed unit, which it counts."""
    meta = unit.metadata
    name = meta.labels.get(POOL_LABEL)
    return () if name is None else (ObjectKey(meta.namespace, name),)
