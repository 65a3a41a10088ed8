"""One worker as scaling sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from serverless.activator.timestamps import parse_timestamp_ms
from serverless.activator.workers.worker_spec import (
    OPERATION_ID_PREFIX,
    serverless_spec_of,
    worker_number_of,
)
from shared.etag import make_etag
from shared.invocation.worker_report import WorkerReport
from shared.k8s.conditions import find_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType, UnitReason
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION

# A place that is only being freed, or a node that only restarts, comes back sooner.
LOST_AFTER_MS: Final = 30_000


class WorkerState(Enum):
    """What can be expected of a worker."""

    READY = auto()
    STARTING = auto()
    FAILED = auto()  # by its own doing: another unit would fare no better
    LOST = auto()  # by its place: another unit would
    GOING = auto()


@dataclass(frozen=True, slots=True)
class ObservedWorker:
    """`number` is None for one that somebody made by hand; times are milliseconds since 1970.

    `tag` is of the unit as it was seen: only that one is deleted.
    """

    name: str
    number: int | None
    state: WorkerState
    etag: str = ""
    is_current: bool = True
    is_busy: bool = False
    idle_since: int = 0
    reason_text: str = ""

    @property
    def is_managed(self) -> bool:
        """Whether we may delete it."""
        return self.number is not None


def observe_worker(
    function: Function, unit: GPUUnit, reports: Mapping[str, WorkerReport], now: int
) -> ObservedWorker | None:
    """The unit as a worker of the function; None where it is none of it."""
    meta, number = unit.metadata, worker_number_of(unit, function.metadata.uid)
    is_a_predecessors = number is None and meta.annotations.get(
        OPERATION_ID_ANNOTATION, ""
    ).startswith(OPERATION_ID_PREFIX)
    serverless = unit.spec.serverless
    if (
        serverless is None
        or serverless.function_name != function.metadata.name
        or is_a_predecessors
    ):
        return None
    said, report = ready_condition(unit), reports.get(meta.name)
    return ObservedWorker(
        name=meta.name,
        number=number,
        state=worker_state_of(unit, now),
        etag=make_etag(meta),
        is_current=is_current(function, unit),
        is_busy=report is not None and report.running > 0,
        idle_since=parse_timestamp_ms(meta.creation_timestamp)
        if report is None
        else report.last_active,
        reason_text=f"{said.reason}: {said.message}" if said else "",
    )


def worker_state_of(unit: GPUUnit, now: int) -> WorkerState:
    """What to expect of the unit."""
    if unit.metadata.deletion_timestamp is not None:
        return WorkerState.GOING
    if is_lost(ready_condition(unit), now):
        return WorkerState.LOST
    if unit.status.phase == UnitPhase.FAILED:
        return WorkerState.FAILED
    return WorkerState.READY if is_ready(unit) else WorkerState.STARTING


def is_ready(unit: GPUUnit) -> bool:
    """Whether its pod is available, and the sidecar in it where it says anything."""
    said = find_condition(unit.status.conditions, ConditionType.SERVERLESS_READY)
    return unit.status.phase == UnitPhase.READY and (said is None or said.status == "True")


def is_lost(condition: Condition | None, now: int) -> bool:
    """Whether it has had no place for a while: no node takes it, or its node is not there."""
    if (
        condition is None
        or now - parse_timestamp_ms(condition.last_transition_time) < LOST_AFTER_MS
    ):
        return False
    # The controller has no reason of its own for a node that is gone; its words are fixed.
    is_nodeless = (
        condition.message.startswith("node ") and ": waiting for it, or" in condition.message
    )
    return condition.reason == UnitReason.POD_UNSCHEDULABLE or is_nodeless


def is_current(function: Function, unit: GPUUnit) -> bool:
    """Whether the unit is what the function would ask for now."""
    wanted, given = function.spec, unit.spec
    return (
        (wanted.spec_name, wanted.image) == (given.spec_name, given.image)
        and wanted.template == given.template
        and wanted.storage_mounts == given.storage_mounts
        and serverless_spec_of(function) == given.serverless
    )


def ready_condition(unit: GPUUnit) -> Condition | None:
    """What the unit says of itself."""
    return find_condition(unit.status.conditions, ConditionType.READY)
