"""The story of a reservation: it holds a place until somebody claims it."""

from controller.apply.applier import Sync
from controller.caches import Caches
from controller.gpuunit.handoff import claim_validity
from controller.gpuunit.handoff.seed_listing import Listing
from controller.gpuunit.handoff.stock_lifecycle import Stockkeeping
from controller.gpuunit.resources import children
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.outcome import Outcome, outcome_of
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.status.status import Published, stock_verdict
from controller.gpuunit.workload import observe
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.validation.resources import envelope_problems


class StockStory:
    """What is done for one stock unit in one turn."""

    def __init__(
        self, caches: Caches, settings: UnitSettings, keeping: Stockkeeping, sync: Sync[GPUUnit]
    ) -> None:
        self._caches = caches
        self._settings = settings
        self._keeping = keeping
        self._sync = sync

    async def turn(self, stock: GPUUnit) -> Outcome | None:
        """None when the next turn has to begin anew: the unit has gone or become another."""
        listing = await self._keeping.settle_listing(stock)
        if listing is Listing.STRAY:
            return None
        if claim_validity.is_claimed(stock) and await self._keeping.release_void_claim(stock):
            return None
        problems = envelope_problems(stock.spec)
        if problems:
            said = "; ".join(problem.text for problem in problems)
            return Outcome(Verdict.failed(UnitReason.INVALID_SPEC, said))
        failed = await self._run(stock)
        return failed or Outcome(self._verdict(stock, listing), Published())

    async def _run(self, stock: GPUUnit) -> Outcome | None:
        policy = children.policy_child(stock, self._caches, self._settings)
        workload = observe(self._caches, stock)
        pods = children.deployment_child(stock, self._caches, self._settings, workload)
        failed = await self._sync.ensure(stock, [policy, pods])
        return None if failed is None else outcome_of(failed)

    def _verdict(self, stock: GPUUnit, listing: Listing) -> Verdict:
        workload = observe(self._caches, stock)
        return stock_verdict(
            workload,
            self._caches.nodes_of(workload.current),
            claimed_by=claim_validity.claimed_by(stock),
            is_listed=listing is Listing.MARKED,
        )
