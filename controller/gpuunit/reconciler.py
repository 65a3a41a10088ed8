"""GPUUnits: look at one, do what is missing, say how it is."""

from typing import Final

from controller.caches import Caches
from controller.gpuunit.active_unit import ActiveUnitReconciler
from controller.gpuunit.scheduling.nomination_timeout import NominationTimeouts
from controller.gpuunit.status.status_writer import UnitStatusWriter
from controller.gpuunit.stock_unit import StockUnitReconciler
from controller.namespaces import Namespaces
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import ReconcileError, Result

# The watch brings what overtook us, mostly sooner.
REQUEUE_SOON: Final = Result(requeue_after=0.5)


class GPUUnitReconciler:
    """One kind for both roles: the namespace says which."""

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
        """One turn of the unit's story."""
        unit = self._caches.units.get(key)
        if unit is None or unit.metadata.deletion_timestamp is not None:
            self._nomination_timeouts.forget(key)
            return Result()  # the garbage collector takes the children
        story = (
            self._stock_reconciler if self._namespaces.is_stock(key) else self._active_reconciler
        )
        outcome = await story.reconcile_unit(unit)
        if outcome is None:
            return Result()  # our own write has asked for the next turn
        is_told = await self._status_writer.write(unit, outcome)
        if outcome.retry_error is not None:
            raise ReconcileError(outcome.readiness.message) from outcome.retry_error
        return Result(requeue_after=outcome.requeue_after) if is_told else REQUEUE_SOON
