"""Reconciler of StockPools: keeps the desired number of unclaimed units."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from controller.caches import Caches
from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime import (
    AlreadyExistsError,
    Client,
    Clock,
    ConflictError,
    EventRecorder,
    InvalidError,
    KubeError,
    NotFoundError,
    ObjectKey,
    Preconditions,
    Result,
    Writer,
    first_in_order,
    key_of,
    object_reference,
    run_bounded,
)
from controller.status.events import record_event
from controller.stockpool import stock_claims
from controller.stockpool.events import status_event
from controller.stockpool.manifest import unit_manifest as unit_of
from controller.stockpool.scaling import ScalingPlan, free_names, plan_scaling
from controller.stockpool.snapshot import PoolSnapshot, PoolSnapshotReader
from controller.stockpool.status import PoolProblem, next_status, rejection_problem, spec_problem
from controller.stockpool.stock import unclaimed_units
from shared.k8s import merge_patch
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPool

# The watch brings most newer objects. This interval is for the others, such as a foreign unit of
# the name.
REQUEUE_SOON: Final = Result(requeue_after=0.5)


MAX_LISTED_NAMES: Final = 10


@dataclass(slots=True)
class ScalingOutcome:
    """Created and deleted units; `is_stale` if the snapshot was out of date."""

    created: list[GPUUnit] = field(default_factory=list)
    deleted: list[GPUUnit] = field(default_factory=list)
    error: KubeError | None = None
    is_stale: bool = False

    def apply_to(self, snapshot: PoolSnapshot) -> PoolSnapshot:
        """Return the snapshot as it is after these writes."""
        deleted_uids = {unit.metadata.uid for unit in self.deleted}
        remaining = [unit for unit in snapshot.units if unit.metadata.uid not in deleted_uids]
        return replace(snapshot, units=(*remaining, *self.created))


class StockPoolReconciler:
    """Reconciler that creates, deletes and replaces unclaimed units, and counts claimed ones."""

    def __init__(
        self,
        caches: Caches,
        client: Client,
        writer: Writer,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._snapshots = PoolSnapshotReader(caches, client)
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take one step towards the desired number; events of the units start the next one."""
        snapshot = self._snapshots.cached(key)
        if snapshot is not None and not is_settled(snapshot):
            # With a stale cache too many units would be created and stock claims miscounted.
            snapshot = await self._snapshots.live(key)
        if snapshot is None:
            return Result()  # the garbage collector deletes the unclaimed units
        outcome = await self._scale(snapshot)
        problem = spec_problem(snapshot.pool) or rejection_problem(outcome.error)
        is_written = await self._write_status(outcome.apply_to(snapshot), problem)
        if outcome.error is not None and not isinstance(outcome.error, InvalidError):
            raise outcome.error
        return Result() if is_written and not outcome.is_stale else REQUEUE_SOON

    async def _scale(self, snapshot: PoolSnapshot) -> ScalingOutcome:
        """Delete first, then create: there are never more units than desired."""
        outcome, plan = ScalingOutcome(), next_plan(snapshot)
        outcome.error = first_in_order(
            await run_bounded(
                plan.to_delete, lambda unit: self._delete_unit(unit, outcome), KubeError
            )
        )
        if outcome.error is None and not outcome.is_stale:
            pool, is_taken = snapshot.pool, self._snapshots.name_check(snapshot)
            names = free_names(pool.metadata.name, plan.create_count, is_taken)
            outcome.error = first_in_order(
                await run_bounded(
                    names, lambda name: self._create_unit(pool, name, outcome), KubeError
                )
            )
        self._record_events(snapshot.pool, outcome)
        return outcome

    async def _delete_unit(self, unit: GPUUnit, outcome: ScalingOutcome) -> None:
        meta = unit.metadata
        preconditions = Preconditions(meta.uid, meta.resource_version)
        try:
            await self._writer.delete(GPU_UNITS, key_of(unit), preconditions)
        except (ConflictError, NotFoundError):
            outcome.is_stale = True  # perhaps the unit was claimed, and the stock claim wins
        else:
            outcome.deleted.append(unit)

    async def _create_unit(self, pool: StockPool, name: str, outcome: ScalingOutcome) -> None:
        try:
            outcome.created.append(await self._writer.create(GPU_UNITS, unit_of(pool, name)))
        except (AlreadyExistsError, ConflictError):
            outcome.is_stale = True  # ours after a lost response, or another leader's

    async def _write_status(self, snapshot: PoolSnapshot, problem: PoolProblem | None) -> bool:
        """Write the status if it changes; return False if the pool has changed on the server."""
        pool, new = snapshot.pool, next_status(snapshot, problem, self._clock.now())
        changes = merge_patch.create_merge_patch(pool.status, new)
        if not changes:
            return True
        version = {"resourceVersion": pool.metadata.resource_version}
        body = {"metadata": version, "status": changes}
        try:
            await self._writer.patch(STOCK_POOLS, key_of(pool), body, "status")
        except (ConflictError, NotFoundError):
            return False
        event = status_event(pool.status, new)
        if event is not None:
            record_event(self._recorder, object_reference(STOCK_POOLS, pool), event)
        return True

    def _record_events(self, pool: StockPool, outcome: ScalingOutcome) -> None:
        regarding = object_reference(STOCK_POOLS, pool)
        if outcome.deleted:
            removed = f"deleted {summarize_units(outcome.deleted)}"
            self._recorder.normal(regarding, EventReason.SCALED_DOWN, removed)
        if outcome.created:
            self._recorder.normal(
                regarding, EventReason.SCALED_UP, f"created {summarize_units(outcome.created)}"
            )


def next_plan(snapshot: PoolSnapshot) -> ScalingPlan:
    """Plan the next step; nothing for an invalid spec or a pool that is being deleted."""
    is_deleted = snapshot.pool.metadata.deletion_timestamp is not None
    if is_deleted or spec_problem(snapshot.pool) is not None:
        return ScalingPlan()
    return plan_scaling(snapshot.pool, unclaimed_units(snapshot.pool, snapshot.units))


def is_settled(snapshot: PoolSnapshot) -> bool:
    """Return whether neither units nor counts need a change."""
    status = snapshot.pool.status
    return next_plan(snapshot).is_idle and stock_claims.count_claims(
        status, snapshot.units
    ) == stock_claims.recorded_claims(status)


def summarize_units(units: Iterable[GPUUnit]) -> str:
    """Describe units for an Event: their number and the first names."""
    names = sorted((unit.metadata.name for unit in units), key=lambda name: (len(name), name))
    noun = "unit" if len(names) == 1 else "units"
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return f"{len(names)} {noun}: {', '.join(names[:MAX_LISTED_NAMES])}{more}"
