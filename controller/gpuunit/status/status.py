"""Status of a unit, computed from an observation; it stays equal if only time has passed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from controller.gpuunit.status.diagnosis import diagnose_node, diagnose_workload, progress_message
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.worker_readiness import WorkerReadiness
from controller.gpuunit.workload import Workload
from controller.status.pod_diagnosis import stable_message
from shared.k8s.conditions import find_condition, with_condition
from shared.k8s.meta import Condition
from shared.k8s.node import Node
from shared.k8s.readiness import new_condition
from shared.time import format_timestamp
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus, ServerlessStatus
from shared.v1alpha1.reasons import ConditionType, UnitReason


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Service and URL of a unit; empty for stock and for units without ports."""

    service_name: str = ""
    url: str = ""


def active_unit_readiness(
    workload: Workload, nodes: Mapping[str, Node], *, awaits_nominated_node: bool = False
) -> UnitReadiness:
    """Decide the readiness of a user's unit; waiting for a nominated node is no problem."""
    for pod in workload.ready_pods:
        message = f"the unit runs on node {pod.spec.node_name}"
        return diagnose_node(pod, nodes) or UnitReadiness.ready(UnitReason.UNIT_READY, message)
    problem = diagnose_workload(workload, nodes, awaits_nominated_node=awaits_nominated_node)
    return problem or UnitReadiness.progressing(
        UnitReason.UNIT_PROGRESSING, progress_message(workload)
    )


def stock_unit_readiness(
    workload: Workload,
    nodes: Mapping[str, Node],
    *,
    claiming_unit_name: str | None,
    is_listed: bool,
) -> UnitReadiness:
    """Decide the readiness of stock; it cannot be claimed before its operation lists it."""
    readiness = active_unit_readiness(workload, nodes)
    if not readiness.is_ready:
        return readiness
    node = workload.ready_pods[0].spec.node_name
    if claiming_unit_name is not None:
        message = f"claimed by unit {claiming_unit_name}; resources are reserved on node {node}"
        return UnitReadiness.ready(UnitReason.STOCK_CLAIMED, message)
    if not is_listed:
        message = "the operation that created this unit has not listed it in its status yet"
        return UnitReadiness.progressing(UnitReason.STOCK_NOT_READY, message)
    return UnitReadiness.ready(UnitReason.STOCK_READY, f"resources are reserved on node {node}")


def next_status(
    unit: GPUUnit,
    readiness: UnitReadiness,
    worker: WorkerReadiness | None,
    workload: Workload,
    service_address: ServiceAddress,
    now: datetime,
) -> GPUUnitStatus:
    """Compute the status; `last_sync_time` changes only together with another field."""
    old = unit.status
    new = GPUUnitStatus(
        phase=readiness.phase.value,
        ready_replicas=len(workload.ready_pods),
        observed_generation=unit.metadata.generation,
        last_sync_time=old.last_sync_time,
        service_name=service_address.service_name,
        access_url=service_address.url,
        node_name=current_node_name(workload, old.node_name),
        serverless=None if worker is None else ServerlessStatus(phase=worker.phase.value),
        conditions=conditions(unit, readiness, worker, now),
    )
    return new if new == old else msgspec.structs.replace(new, last_sync_time=format_timestamp(now))


def conditions(
    unit: GPUUnit, readiness: UnitReadiness, worker: WorkerReadiness | None, now: datetime
) -> tuple[Condition, ...]:
    """Report whether the unit is ready, and whether it accepts invocations if it is a worker."""
    worker_type = ConditionType.SERVERLESS_READY
    updated = with_condition(unit.status.conditions, ready_condition(unit, readiness, now))
    if worker is None:
        return tuple(condition for condition in updated if condition.type != worker_type)
    return with_condition(updated, worker_condition(unit, worker, now))


def worker_condition(unit: GPUUnit, worker: WorkerReadiness, now: datetime) -> Condition:
    """Create the condition ServerlessReady of a worker."""
    return new_condition(
        ConditionType.SERVERLESS_READY,
        is_true=worker.is_ready,
        reason=worker.reason,
        message=worker.message,
        observed_generation=unit.metadata.generation,
        now=now,
    )


def ready_condition(unit: GPUUnit, readiness: UnitReadiness, now: datetime) -> Condition:
    """Create the condition Ready of the unit."""
    old = find_condition(unit.status.conditions, ConditionType.READY)
    return new_condition(
        ConditionType.READY,
        is_true=readiness.is_ready,
        reason=readiness.reason,
        message=stable_message("" if old is None else old.message, readiness.message),
        observed_generation=unit.metadata.generation,
        now=now,
    )


def current_node_name(workload: Workload, previous: str) -> str:
    """Return the node of the started pod; else `previous` while a pod is still on it."""
    started = [pod.spec.node_name for pod in workload.current_pods if pod.status.container_statuses]
    still = [
        pod.spec.node_name
        for pod in workload.scheduled_previous_pods
        if pod.spec.node_name == previous
    ]
    return next(iter((*started, *still)), "")
