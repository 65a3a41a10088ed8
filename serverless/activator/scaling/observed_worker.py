"""A worker as scaling observes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from serverless.activator.workers.worker_spec import (
    OPERATION_ID_PREFIX,
    serverless_spec_of,
    worker_number_of,
)
from shared.etag import make_etag
from shared.invocation.worker_report import WorkerReport
from shared.k8s.conditions import find_condition
from shared.k8s.meta import Condition
from shared.time import timestamp_to_ms
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType, UnitReason
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION

# A node that restarts or a GPU that is being freed is back sooner.
LOST_AFTER_MS: Final = 30_000


class WorkerState(Enum):
    """What can be expected of a worker."""

    READY = auto()
    STARTING = auto()
    FAILED = auto()  # its own failure: another unit would fail as well
    LOST = auto()  # its node failed or no node fits: another unit may work
    GOING = auto()  # being deleted


@dataclass(frozen=True, slots=True)
class ObservedWorker:
    """A worker; `number` is None if a user created it. Times are milliseconds since 1970.

    Only the unit with this `etag` is deleted.
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
    """Return the unit as a worker of the function; None if it is not one."""
    meta, number = unit.metadata, worker_number_of(unit, function.metadata.uid)
    is_of_predecessor = number is None and meta.annotations.get(
        OPERATION_ID_ANNOTATION, ""
    ).startswith(OPERATION_ID_PREFIX)
    serverless = unit.spec.serverless
    if (
        serverless is None
        or serverless.function_name != function.metadata.name
        or is_of_predecessor
    ):
        return None
    condition, report = ready_condition(unit), reports.get(meta.name)
    return ObservedWorker(
        name=meta.name,
        number=number,
        state=worker_state_of(unit, now),
        etag=make_etag(meta),
        is_current=is_current(function, unit),
        is_busy=report is not None and report.running > 0,
        idle_since=timestamp_to_ms(meta.creation_timestamp)
        if report is None
        else report.last_active,
        reason_text=f"{condition.reason}: {condition.message}" if condition else "",
    )


def worker_state_of(unit: GPUUnit, now: int) -> WorkerState:
    """Return the state of a worker."""
    if unit.metadata.deletion_timestamp is not None:
        return WorkerState.GOING
    if is_lost(ready_condition(unit), now):
        return WorkerState.LOST
    if unit.status.phase == UnitPhase.FAILED:
        return WorkerState.FAILED
    return WorkerState.READY if is_ready(unit) else WorkerState.STARTING


def is_ready(unit: GPUUnit) -> bool:
    """Whether the unit is ready, and its sidecar if there is a condition for it."""
    condition = find_condition(unit.status.conditions, ConditionType.SERVERLESS_READY)
    return unit.status.phase == UnitPhase.READY and (
        condition is None or condition.status == "True"
    )


def is_lost(condition: Condition | None, now: int) -> bool:
    """Whether the unit has had no node for a while: none fits, or its node is lost."""
    if condition is None or now - timestamp_to_ms(condition.last_transition_time) < LOST_AFTER_MS:
        return False
    # Release 0.1.0 of the controller reports a lost node by this message alone.
    is_nodeless = condition.reason == UnitReason.NODE_LOST or (
        condition.message.startswith("node ") and ": waiting for it, or" in condition.message
    )
    return condition.reason == UnitReason.POD_UNSCHEDULABLE or is_nodeless


def is_current(function: Function, unit: GPUUnit) -> bool:
    """Whether the unit equals what the function would create now."""
    expected, actual = function.spec, unit.spec
    return (
        (expected.spec_name, expected.image) == (actual.spec_name, actual.image)
        and expected.template == actual.template
        and expected.storage_mounts == actual.storage_mounts
        and serverless_spec_of(function) == actual.serverless
    )


def ready_condition(unit: GPUUnit) -> Condition | None:
    """Return the Ready condition of the unit, or None."""
    return find_condition(unit.status.conditions, ConditionType.READY)
