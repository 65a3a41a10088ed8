"""GPUUnits: look at one, do what is missing, say how it is."""

from typing import Final

from controller.caches import Caches
from controller.gpuunit.active_unit import ActiveStory
from controller.gpuunit.scheduling.nomination_timeout import Vacancies
from controller.gpuunit.status.status_writer import Report
from controller.gpuunit.stock_unit import StockStory
from controller.namespaces import Namespaces
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import ReconcileError, Result

# The watch brings what overtook us, mostly sooner.
LOOK_AGAIN: Final = Result(requeue_after=0.5)


class GPUUnitReconciler:
    """One kind for both roles: the namespace says which."""

    def __init__(
        self,
        caches: Caches,
        namespaces: Namespaces,
        stock: StockStory,
        active: ActiveStory,
        report: Report,
        vacancies: Vacancies,
    ) -> None:
        self._caches = caches
        self._namespaces = namespaces
        self._stock = stock
        self._active = active
        self._report = report
        self._vacancies = vacancies

    async def reconcile(self, key: ObjectKey) -> Result:
        """One turn of the unit's story."""
        unit = self._caches.units.get(key)
        if unit is None or unit.metadata.deletion_timestamp is not None:
            self._vacancies.forget(key)
            return Result()  # the garbage collector takes the children
        story = self._stock if self._namespaces.is_stock(key) else self._active
        outcome = await story.turn(unit)
        if outcome is None:
            return Result()  # our own write has asked for the next turn
        is_told = await self._report.write(unit, outcome)
        if outcome.retry is not None:
            raise ReconcileError(outcome.verdict.message) from outcome.retry
        return Result(requeue_after=outcome.look_after) if is_told else LOOK_AGAIN
