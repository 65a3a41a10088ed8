"""How many workers a function needs, and the next step towards that: one function of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from serverless.activator.scaling.demand_history import Need, needed_until, remembered
from serverless.activator.scaling.observed_worker import Worker, WorkerState
from shared.v1alpha1.function import FunctionSpec


class Why(StrEnum):
    """Why a worker goes, for people."""

    LOST = "it has no place"
    OUTDATED = "the function has changed"
    SURPLUS = "it is not needed"


@dataclass(frozen=True, slots=True)
class Load:
    """Invocations that wait, and that run."""

    queued: int = 0
    running: int = 0

    @property
    def total(self) -> int:
        """All that are not final."""
        return self.queued + self.running


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a step depends on; `is_asking` while the last worker's making is not over."""

    spec: FunctionSpec
    load: Load
    workers: tuple[Worker, ...]
    now: int
    needs: tuple[Need, ...] = ()
    is_asking: bool = False

    @property
    def staying(self) -> tuple[Worker, ...]:
        """The workers that are not on their way out."""
        return tuple(each for each in self.workers if each.state is not WorkerState.GOING)

    @property
    def removable(self) -> list[Worker]:
        """Our workers, of which one may be removed; none while another is on its way out."""
        is_one_going = len(self.staying) < len(self.workers)
        return [] if is_one_going else [each for each in self.staying if each.is_ours]

    @property
    def count(self) -> int:
        """How many workers there are, with the one that is being asked for."""
        return len(self.staying) + self.is_asking


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step, for one worker at most; `wake_ms` is when to look again, if nothing comes."""

    desired: int
    create: bool = False
    remove: Worker | None = None
    why: Why | None = None
    wake_ms: int | None = None


def desired_workers(spec: FunctionSpec, load: Load) -> int:
    """As many as the backlog needs, within the function's bounds."""
    slots = spec.concurrency * spec.target_backlog
    needed = -(-load.total // slots)
    return min(max(needed, spec.min_workers), spec.max_workers)


def plan(scene: Scene) -> Plan:
    """The next step of a function that stays."""
    desired = desired_workers(scene.spec, scene.load)
    lost = [each for each in scene.removable if each.state is WorkerState.LOST]
    if lost:
        return Plan(desired, remove=lost[0], why=Why.LOST)
    if scene.count < desired:
        return Plan(desired, create=True)
    outdated = replaceable(scene)
    if outdated:
        return Plan(desired, remove=least_missed(outdated), why=Why.OUTDATED)
    return shrinking(scene, desired) if scene.count > desired else Plan(desired)


def replaceable(scene: Scene) -> list[Worker]:
    """Outdated workers, of which one may go: not while one that follows is still starting."""
    is_starting = scene.is_asking or any(
        each.is_ours and each.is_current and each.state is WorkerState.STARTING
        for each in scene.staying
    )
    return [] if is_starting else [each for each in scene.removable if not each.is_current]


def shrinking(scene: Scene, desired: int) -> Plan:
    """Remove one worker once there was no need for it for long enough."""
    until = needed_until(needs_after(scene), scene.count)
    left = until + scene.spec.idle_timeout_seconds * 1000 - scene.now
    if left > 0:
        return Plan(desired, wake_ms=left)
    if not scene.removable:
        return Plan(desired)
    return Plan(desired, remove=least_missed(scene.removable), why=Why.SURPLUS)


def needs_after(scene: Scene) -> tuple[Need, ...]:
    """The needs to remember after a look at the scene."""
    desired = desired_workers(scene.spec, scene.load)
    return remembered(scene.needs, desired, scene.count, scene.now)


def least_missed(workers: Sequence[Worker]) -> Worker:
    """One that does not run anything if there is one, and of those the one idle longest."""
    return min(workers, key=lambda each: (each.is_busy, each.idle_since, each.number or 0))
