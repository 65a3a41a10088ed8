"""The status of a unit from what was seen: pure, and equal where nothing has changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from controller.gpuunit.status.diagnosis import node_trouble, progress, trouble
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.status.worker_readiness import WorkerVerdict
from controller.gpuunit.workload import Workload
from controller.status.pod_diagnosis import lasting
from shared.k8s.conditions import condition_of, timestamp, with_condition
from shared.k8s.meta import Condition
from shared.k8s.node import Node
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus, ServerlessStatus
from shared.v1alpha1.phases import UnitPhase, WorkerPhase
from shared.v1alpha1.reasons import ConditionType, UnitReason


@dataclass(frozen=True, slots=True)
class Published:
    """Where a unit is reached; empty for stock and for units without ports."""

    service_name: str = ""
    access_url: str = ""


def active_verdict(
    workload: Workload, nodes: Mapping[str, Node], *, is_place_kept: bool = False
) -> Verdict:
    """How a user's unit is; its pending pod may wait for a place that is kept for it."""
    for pod in workload.ready:
        said = f"the unit runs on node {pod.spec.node_name}"
        return node_trouble(pod, nodes) or Verdict.ready(UnitReason.UNIT_READY, said)
    found = trouble(workload, nodes, is_place_kept=is_place_kept)
    return found or Verdict.progressing(UnitReason.UNIT_PROGRESSING, progress(workload))


def stock_verdict(
    workload: Workload, nodes: Mapping[str, Node], *, claimed_by: str | None, is_listed: bool
) -> Verdict:
    """How a reservation is; one that is not listed in its record cannot be claimed yet."""
    verdict = active_verdict(workload, nodes)
    if verdict.phase is not UnitPhase.READY:
        return verdict
    node = workload.ready[0].spec.node_name
    if claimed_by is not None:
        said = f"claimed by unit {claimed_by}, holds its place on node {node}"
        return Verdict.ready(UnitReason.STOCK_CLAIMED, said)
    if not is_listed:
        said = "the operation that made this unit has not listed it yet"
        return Verdict.progressing(UnitReason.STOCK_NOT_READY, said)
    return Verdict.ready(UnitReason.STOCK_READY, f"a place is reserved on node {node}")


def next_status(
    unit: GPUUnit,
    verdict: Verdict,
    worker: WorkerVerdict | None,
    workload: Workload,
    published: Published,
    now: datetime,
) -> GPUUnitStatus:
    """What the status shall be; the very same value where only time has passed."""
    known = unit.status
    seen = GPUUnitStatus(
        phase=verdict.phase.value,
        ready_replicas=len(workload.ready),
        observed_generation=unit.metadata.generation,
        last_sync_time=known.last_sync_time,
        service_name=published.service_name,
        access_url=published.access_url,
        node_name=node_name(workload, known.node_name),
        serverless=None if worker is None else ServerlessStatus(phase=worker.phase.value),
        conditions=conditions(unit, verdict, worker, now),
    )
    return seen if seen == known else msgspec.structs.replace(seen, last_sync_time=timestamp(now))


def conditions(
    unit: GPUUnit, verdict: Verdict, worker: WorkerVerdict | None, now: datetime
) -> tuple[Condition, ...]:
    """Whether it is ready, and for a worker also whether it takes invocations."""
    kind = ConditionType.SERVERLESS_READY
    known = with_condition(unit.status.conditions, ready_condition(unit, verdict, now))
    if worker is None:
        return tuple(found for found in known if found.type != kind)
    return with_condition(known, worker_condition(unit, worker, now))


def worker_condition(unit: GPUUnit, worker: WorkerVerdict, now: datetime) -> Condition:
    return Condition(
        type=ConditionType.SERVERLESS_READY.value,
        status="True" if worker.phase is WorkerPhase.READY else "False",
        observed_generation=unit.metadata.generation,
        last_transition_time=timestamp(now),
        reason=worker.reason.value,
        message=worker.message,
    )


def ready_condition(unit: GPUUnit, verdict: Verdict, now: datetime) -> Condition:
    known = condition_of(unit.status.conditions, ConditionType.READY)
    return Condition(
        type=ConditionType.READY.value,
        status="True" if verdict.phase is UnitPhase.READY else "False",
        observed_generation=unit.metadata.generation,
        last_transition_time=timestamp(now),
        reason=verdict.reason.value,
        message=lasting("" if known is None else known.message, verdict.message),
    )


def node_name(workload: Workload, known: str) -> str:
    """The node of the pod that runs or is about to; else the known one, while a pod is there."""
    started = [pod.spec.node_name for pod in workload.current if pod.status.container_statuses]
    still = [pod.spec.node_name for pod in workload.holders if pod.spec.node_name == known]
    return next(iter((*started, *still)), "")
