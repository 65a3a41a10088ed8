"""The story of a reservation: it holds a place until somebody claims it."""

from controller.apply.applier import ChildApplier
from controller.caches import Caches
from controller.gpuunit.handoff import claim_validity
from controller.gpuunit.handoff.seed_listing import SeedListing
from controller.gpuunit.handoff.stock_lifecycle import StockLifecycle
from controller.gpuunit.resources import children
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.outcome import UnitReconcileOutcome, outcome_of_failure
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress, stock_unit_readiness
from controller.gpuunit.workload import observe_workload
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.validation.resources import resource_problems


class StockUnitReconciler:
    """What is done for one stock unit in one turn."""

    def __init__(
        self,
        caches: Caches,
        settings: UnitSettings,
        stock_lifecycle: StockLifecycle,
        applier: ChildApplier[GPUUnit],
    ) -> None:
        self._caches = caches
        self._settings = settings
        self._stock_lifecycle = stock_lifecycle
        self._applier = applier

    async def reconcile_unit(self, stock: GPUUnit) -> UnitReconcileOutcome | None:
        """None when the next turn has to begin anew: the unit has gone or become another."""
        listing = await self._stock_lifecycle.settle_seed_listing(stock)
        if listing is SeedListing.STRAY:
            return None
        if claim_validity.is_claimed(stock) and await self._stock_lifecycle.release_orphaned_claim(
            stock
        ):
            return None
        problems = resource_problems(stock.spec)
        if problems:
            said = "; ".join(problem.text for problem in problems)
            return UnitReconcileOutcome(UnitReadiness.failed(UnitReason.INVALID_SPEC, said))
        failed = await self._apply_children(stock)
        return failed or UnitReconcileOutcome(self._readiness(stock, listing), ServiceAddress())

    async def _apply_children(self, stock: GPUUnit) -> UnitReconcileOutcome | None:
        policy = children.network_policy_child(stock, self._caches, self._settings)
        workload = observe_workload(self._caches, stock)
        pods = children.deployment_child(stock, self._caches, self._settings, workload)
        failed = await self._applier.apply(stock, [policy, pods])
        return None if failed is None else outcome_of_failure(failed)

    def _readiness(self, stock: GPUUnit, listing: SeedListing) -> UnitReadiness:
        workload = observe_workload(self._caches, stock)
        return stock_unit_readiness(
            workload,
            self._caches.nodes_of(workload.current_pods),
            claiming_unit_name=claim_validity.claiming_unit_name(stock),
            is_listed=listing is SeedListing.MARKED,
        )
