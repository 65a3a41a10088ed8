"""Step of a stock unit: it holds a node until a user's unit claims it."""

from controller.apply.applier import ChildApplier
from controller.caches import Caches
from controller.gpuunit.handoff.seed_listing import SeedListing
from controller.gpuunit.handoff.stock_lifecycle import StockLifecycle
from controller.gpuunit.observation import Observation, observe_unit
from controller.gpuunit.resources import children
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.outcome import (
    UnitBlocker,
    UnitReconcileOutcome,
    blocker_of_failure,
    outcome_of_blocker,
)
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress, stock_unit_readiness
from controller.status.blocker import Blocker
from shared.v1alpha1 import stock_claim
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.validation.resources import resource_problems


class StockUnitReconciler:
    """Reconciler of one step of a stock unit; each decision is about a given observation."""

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
        """Take one step; return None if the unit was deleted or its stock claim was released."""
        listing = await self._stock_lifecycle.settle_seed_listing(stock)
        if listing is SeedListing.STRAY:
            return None
        is_claimed = stock_claim.is_claimed(stock)
        if is_claimed and await self._stock_lifecycle.release_orphaned_claim(stock):
            return None
        blocker = await self._apply_children(self._observe(stock))
        observation = self._observe(stock)
        if blocker is not None:
            return outcome_of_blocker(observation, blocker)
        readiness = stock_readiness(observation, listing)
        return UnitReconcileOutcome(observation, readiness, ServiceAddress())

    async def _apply_children(self, observation: Observation) -> UnitBlocker | None:
        """Apply the NetworkPolicy and the Deployment; None unless the stock is blocked."""
        stock = observation.unit
        problems = resource_problems(stock.spec)
        if problems:
            message = "; ".join(problem.text for problem in problems)
            return Blocker(UnitReadiness.failed(UnitReason.INVALID_SPEC, message))
        policy = children.network_policy_child(stock, self._caches, self._settings)
        deployment = children.deployment_child(observation, self._caches, self._settings)
        failed = await self._applier.apply(stock, [policy, deployment])
        return None if failed is None else blocker_of_failure(failed)

    def _observe(self, stock: GPUUnit) -> Observation:
        return observe_unit(self._caches, self._settings.namespaces, stock)


def stock_readiness(observation: Observation, listing: SeedListing) -> UnitReadiness:
    """Decide the readiness of a stock unit."""
    return stock_unit_readiness(
        observation.workload,
        observation.nodes,
        claiming_unit_name=stock_claim.claiming_unit_name(observation.unit),
        is_listed=listing is SeedListing.MARKED,
    )
