"""Plans the number of workers of a function and the next step, in pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.demand_history import Demand, last_needed_at, update_history
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from shared.v1alpha1.function import FunctionSpec


class RemovalReason(StrEnum):
    """Why a worker is removed, for the Event."""

    LOST = "it has no node"
    OUTDATED = "the function has changed"
    SURPLUS = "it is no longer needed"


@dataclass(frozen=True, slots=True)
class ScalingSnapshot:
    """Everything that a step depends on; `is_creating` while a creation is running."""

    spec: FunctionSpec
    load: QueueLoad
    workers: tuple[ObservedWorker, ...]
    now: int
    demand_history: tuple[Demand, ...] = ()
    is_creating: bool = False

    @property
    def active_workers(self) -> tuple[ObservedWorker, ...]:
        """The workers that are not being deleted."""
        return tuple(worker for worker in self.workers if worker.state is not WorkerState.GOING)

    @property
    def removable_workers(self) -> list[ObservedWorker]:
        """Our workers, of which one may be removed; empty while another is being deleted."""
        is_removing = len(self.active_workers) < len(self.workers)
        return (
            [] if is_removing else [worker for worker in self.active_workers if worker.is_managed]
        )

    @property
    def worker_count(self) -> int:
        """The number of workers, with the one that is being created."""
        return len(self.active_workers) + self.is_creating


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """The next step, for at most one worker; `requeue_after_ms` is when to plan again."""

    desired: int
    create: bool = False
    remove: ObservedWorker | None = None
    reason: RemovalReason | None = None
    requeue_after_ms: int | None = None


def desired_workers(spec: FunctionSpec, load: QueueLoad) -> int:
    """Return how many workers the backlog needs, within the bounds of the function."""
    slots = spec.concurrency * spec.target_backlog
    needed = -(-load.total // slots)
    return min(max(needed, spec.min_workers), spec.max_workers)


def plan_scaling(snapshot: ScalingSnapshot) -> ScalingPlan:
    """Return the next step of a function that is not deleted."""
    desired = desired_workers(snapshot.spec, snapshot.load)
    lost = [worker for worker in snapshot.removable_workers if worker.state is WorkerState.LOST]
    if lost:
        return ScalingPlan(desired, remove=lost[0], reason=RemovalReason.LOST)
    if snapshot.worker_count < desired:
        return ScalingPlan(desired, create=True)
    outdated = replaceable_workers(snapshot)
    if outdated:
        return ScalingPlan(
            desired, remove=least_needed_worker(outdated), reason=RemovalReason.OUTDATED
        )
    return (
        plan_scale_down(snapshot, desired)
        if snapshot.worker_count > desired
        else ScalingPlan(desired)
    )


def replaceable_workers(snapshot: ScalingSnapshot) -> list[ObservedWorker]:
    """Return outdated workers; empty while a replacement is still starting."""
    is_starting = snapshot.is_creating or any(
        worker.is_managed and worker.is_current and worker.state is WorkerState.STARTING
        for worker in snapshot.active_workers
    )
    if is_starting:
        return []
    return [worker for worker in snapshot.removable_workers if not worker.is_current]


def plan_scale_down(snapshot: ScalingSnapshot, desired: int) -> ScalingPlan:
    """Remove one worker if it was not needed for long enough."""
    needed_at = last_needed_at(next_demand_history(snapshot), snapshot.worker_count)
    left_ms = needed_at + snapshot.spec.idle_timeout_seconds * 1000 - snapshot.now
    if left_ms > 0:
        return ScalingPlan(desired, requeue_after_ms=left_ms)
    if not snapshot.removable_workers:
        return ScalingPlan(desired)
    return ScalingPlan(
        desired,
        remove=least_needed_worker(snapshot.removable_workers),
        reason=RemovalReason.SURPLUS,
    )


def next_demand_history(snapshot: ScalingSnapshot) -> tuple[Demand, ...]:
    """Return the history with the demand of this snapshot."""
    desired = desired_workers(snapshot.spec, snapshot.load)
    return update_history(snapshot.demand_history, desired, snapshot.worker_count, snapshot.now)


def least_needed_worker(workers: Sequence[ObservedWorker]) -> ObservedWorker:
    """Return an idle worker if there is one, and of those the one idle longest."""
    return min(workers, key=lambda worker: (worker.is_busy, worker.idle_since, worker.number or 0))
