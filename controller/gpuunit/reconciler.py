"""Reconciler of GPUUnits: act on a unit, then report what was observed."""

from typing import Final

from controller.caches import Caches
from controller.gpuunit.active_unit import ActiveUnitReconciler
from controller.gpuunit.scheduling.nomination_timeout import NominationTimeouts
from controller.gpuunit.status.status_writer import UnitStatusWriter
from controller.gpuunit.stock_unit import StockUnitReconciler
from controller.namespaces import Namespaces
from controller.runtime import ObjectKey, ReconcileError, Result

# After a conflict the watch usually brings the newer object sooner.
REQUEUE_SOON: Final = Result(requeue_after=0.5)


class GPUUnitReconciler:
    """Reconciler of stock and users' units; the namespace of a unit decides which one it is."""

    def __init__(
        self,
        caches: Caches,
        namespaces: Namespaces,
        stock_reconciler: StockUnitReconciler,
        active_reconciler: ActiveUnitReconciler,
        status_writer: UnitStatusWriter,
        nomination_timeouts: NominationTimeouts,
    ) -> None:
        self._caches = caches
        self._namespaces = namespaces
        self._stock_reconciler = stock_reconciler
        self._active_reconciler = active_reconciler
        self._status_writer = status_writer
        self._nomination_timeouts = nomination_timeouts

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take one step for the unit of `key` and write its status."""
        unit = self._caches.units.get(key)
        if unit is None or unit.metadata.deletion_timestamp is not None:
            self._nomination_timeouts.forget(key)
            return Result()  # the garbage collector deletes the children
        is_stock = self._namespaces.is_stock(key)
        reconciler = self._stock_reconciler if is_stock else self._active_reconciler
        outcome = await reconciler.reconcile_unit(unit)
        if outcome is None:
            return Result()  # the event of our own write starts the next step
        is_written = await self._status_writer.write(unit, outcome)
        if outcome.retry_error is not None:
            raise ReconcileError(outcome.readiness.message) from outcome.retry_error
        return Result(requeue_after=outcome.requeue_after) if is_written else REQUEUE_SOON
