"""Keeps each pool at the number of unclaimed units that it asks for."""

from typing import Final

from controller.caches import Caches
from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client, Condition
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
from controller.runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
)
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.loop.bounded import work_through
from controller.runtime.loop.reconcile import Result
from controller.status.events import announce
from controller.stockpool import problems, stock_claims
from controller.stockpool.events import announcement
from controller.stockpool.manifest import unit as unit_of
from controller.stockpool.outcome import Outcome, listed
from controller.stockpool.problems import Trouble
from controller.stockpool.scaling import Plan, free_names, plan
from controller.stockpool.snapshot import View, Views
from controller.stockpool.status import status
from controller.stockpool.stock import unclaimed
from shared.k8s import merge_patch
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPool

# The watch brings what overtook us; this is for what it does not bring, such as another's unit.
LOOK_AGAIN: Final = Result(requeue_after=0.5)


class StockPoolReconciler:
    """Makes, removes and replaces unclaimed units, and counts the claimed ones."""

    def __init__(
        self,
        caches: Caches,
        client: Client,
        writer: Writer,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._views = Views(caches, client)
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def reconcile(self, key: ObjectKey) -> Result:
        """One step towards what the pool asks for; the news of its units bring the next."""
        view = self._views.cached(key)
        if view is not None and not is_at_rest(view):
            # On the word of a cache that lags, more would be made than asked and claims miscounted.
            view = await self._views.live(key)
        if view is None:
            return Result()  # the garbage collector takes what nobody claimed
        outcome = await self._act(view)
        known = problems.of_spec(view.pool) or problems.of_answer(outcome.failure)
        reported = await self._report(outcome.after(view), known)
        if outcome.failure is not None and not isinstance(outcome.failure, InvalidError):
            raise outcome.failure
        return Result() if reported and not outcome.overtaken else LOOK_AGAIN

    async def _act(self, view: View) -> Outcome:
        """Removes first: what is made must never come on top of what was to go."""
        outcome, wanted = Outcome(), step(view)
        outcome.failure = await work_through(
            wanted.remove, lambda unit: self._remove(unit, outcome)
        )
        if outcome.failure is None and not outcome.overtaken:
            pool, is_taken = view.pool, self._views.taken(view)
            names = free_names(pool.metadata.name, wanted.create, is_taken)
            outcome.failure = await work_through(
                names, lambda name: self._make(pool, name, outcome)
            )
        self._tell(view.pool, outcome)
        return outcome

    async def _remove(self, unit: GPUUnit, outcome: Outcome) -> None:
        meta = unit.metadata
        seen = Condition(meta.uid, meta.resource_version)
        try:
            await self._writer.delete(GPU_UNITS, key_of(unit), seen)
        except (ConflictError, NotFoundError):
            outcome.overtaken = True  # perhaps by a claim, which wins
        else:
            outcome.removed.append(unit)

    async def _make(self, pool: StockPool, name: str, outcome: Outcome) -> None:
        try:
            outcome.made.append(await self._writer.create(GPU_UNITS, unit_of(pool, name)))
        except (AlreadyExistsError, ConflictError):
            outcome.overtaken = True  # by ourselves, if an answer was lost; or by another leader

    async def _report(self, view: View, known: Trouble | None) -> bool:
        """Write the status if it is another one; whether the pool was still what we looked at."""
        pool, new = view.pool, status(view, known, self._clock.now())
        changes = merge_patch.between(pool.status, new)
        if not changes:
            return True
        seen = {"resourceVersion": pool.metadata.resource_version}
        body = {"metadata": seen, "status": changes}
        try:
            await self._writer.patch(STOCK_POOLS, key_of(pool), body, "status")
        except (ConflictError, NotFoundError):
            return False
        news = announcement(pool.status, new)
        if news is not None:
            announce(self._recorder, reference(STOCK_POOLS, pool), news)
        return True

    def _tell(self, pool: StockPool, outcome: Outcome) -> None:
        about = reference(STOCK_POOLS, pool)
        if outcome.removed:
            removed = f"removed {listed(outcome.removed)}"
            self._recorder.normal(about, EventReason.SCALED_DOWN, removed)
        if outcome.made:
            self._recorder.normal(about, EventReason.SCALED_UP, f"made {listed(outcome.made)}")


def step(view: View) -> Plan:
    """What to do next; units of a wrong spec are left alone, those of a deleted pool collected."""
    is_going = view.pool.metadata.deletion_timestamp is not None
    if is_going or problems.of_spec(view.pool) is not None:
        return Plan()
    return plan(view.pool, unclaimed(view.pool, view.units))


def is_at_rest(view: View) -> bool:
    """Whether neither units nor counts are to be changed."""
    known = view.pool.status
    return step(view).is_idle and stock_claims.counted(known, view.units) == stock_claims.written(
        known
    )
