"""How many workers a function needs, and the next step towards that: one function of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.demand_history import Demand, last_needed_at, update_history
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from shared.v1alpha1.function import FunctionSpec


class RemovalReason(StrEnum):
    """Why a worker goes, for people."""

    LOST = "it has no place"
    OUTDATED = "the function has changed"
    SURPLUS = "it is not needed"


@dataclass(frozen=True, slots=True)
class ScalingSnapshot:
    """All that a step depends on; `is_creating` while a create is in flight."""

    spec: FunctionSpec
    load: QueueLoad
    workers: tuple[ObservedWorker, ...]
    now: int
    demand_history: tuple[Demand, ...] = ()
    is_creating: bool = False

    @property
    def active_workers(self) -> tuple[ObservedWorker, ...]:
        """The workers that are not on their way out."""
        return tuple(each for each in self.workers if each.state is not WorkerState.GOING)

    @property
    def removable_workers(self) -> list[ObservedWorker]:
        """Our workers, of which one may be removed; none while another is on its way out."""
        is_one_going = len(self.active_workers) < len(self.workers)
        return [] if is_one_going else [each for each in self.active_workers if each.is_managed]

    @property
    def worker_count(self) -> int:
        """How many workers there are, with the one that is being asked for."""
        return len(self.active_workers) + self.is_creating


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """The next step, for one worker at most; `wake_ms` is when to look again, if nothing comes."""

    desired: int
    create: bool = False
    remove: ObservedWorker | None = None
    reason: RemovalReason | None = None
    requeue_after_ms: int | None = None


def desired_workers(spec: FunctionSpec, load: QueueLoad) -> int:
    """As many as the backlog needs, within the function's bounds."""
    slots = spec.concurrency * spec.target_backlog
    needed = -(-load.total // slots)
    return min(max(needed, spec.min_workers), spec.max_workers)


def plan_scaling(snapshot: ScalingSnapshot) -> ScalingPlan:
    """The next step of a function that stays."""
    desired = desired_workers(snapshot.spec, snapshot.load)
    lost = [each for each in snapshot.removable_workers if each.state is WorkerState.LOST]
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
    """Outdated workers, of which one may go: not while one that follows is still starting."""
    is_starting = snapshot.is_creating or any(
        each.is_managed and each.is_current and each.state is WorkerState.STARTING
        for each in snapshot.active_workers
    )
    return (
        [] if is_starting else [each for each in snapshot.removable_workers if not each.is_current]
    )


def plan_scale_down(snapshot: ScalingSnapshot, desired: int) -> ScalingPlan:
    """Remove one worker once there was no need for it for long enough."""
    until = last_needed_at(next_demand_history(snapshot), snapshot.worker_count)
    left = until + snapshot.spec.idle_timeout_seconds * 1000 - snapshot.now
    if left > 0:
        return ScalingPlan(desired, requeue_after_ms=left)
    if not snapshot.removable_workers:
        return ScalingPlan(desired)
    return ScalingPlan(
        desired,
        remove=least_needed_worker(snapshot.removable_workers),
        reason=RemovalReason.SURPLUS,
    )


def next_demand_history(snapshot: ScalingSnapshot) -> tuple[Demand, ...]:
    """The needs to remember after a look at the scene."""
    desired = desired_workers(snapshot.spec, snapshot.load)
    return update_history(snapshot.demand_history, desired, snapshot.worker_count, snapshot.now)


def least_needed_worker(workers: Sequence[ObservedWorker]) -> ObservedWorker:
    """One that does not run anything if there is one, and of those the one idle longest."""
    return min(workers, key=lambda each: (each.is_busy, each.idle_since, each.number or 0))
