"""Kubernetes objects for dashboard snapshots."""

from msgspec.structs import replace

from apiserver.dashboard.snapshot import DashboardUnit, DashboardUnitSpec, DashboardUnitStatus
from shared.k8s.meta import Condition, ObjectMeta
from shared.k8s.node import Node, NodeCondition, NodeSpec, NodeStatus
from shared.v1alpha1.function import Function, FunctionSpec, FunctionStatus
from shared.v1alpha1.operation import Operation, OperationSpec, OperationStatus
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec, StockPoolStatus
from shared.v1alpha1.wellknown import CLAIMED_LABEL


def timestamp_at(minute: int) -> str:
    return f"2026-11-16T10:{minute:02}:00Z"


def new_unit(
    name: str = "u",
    phase: str = "Ready",
    *,
    spec: str = "g1.1",
    gpu: int = 1,
    node: str = "",
    minute: int = 0,
) -> DashboardUnit:
    return DashboardUnit(
        metadata=ObjectMeta(name=name, creation_timestamp=timestamp_at(minute)),
        spec=DashboardUnitSpec(spec_name=spec, gpu=gpu),
        status=DashboardUnitStatus(phase=phase, node_name=node),
    )


def with_reason(unit: DashboardUnit, reason: str, message: str) -> DashboardUnit:
    """Return a copy of the unit with a reason and a message for not being ready."""
    ready = Condition(
        type="Ready", status="False", last_transition_time="", reason=reason, message=message
    )
    return replace(unit, status=replace(unit.status, conditions=(ready,)))


def new_claimed_unit(name: str, *, deleted: bool = False) -> DashboardUnit:
    meta = ObjectMeta(
        name=name,
        labels={CLAIMED_LABEL: "true"},
        deletion_timestamp=timestamp_at(1) if deleted else None,
    )
    return DashboardUnit(metadata=meta, spec=DashboardUnitSpec(spec_name="g1.1", gpu=1))


def new_node(
    name: str, gpus: int = 8, *, usable: int = 8, ready: str = "True", cordoned: bool = False
) -> Node:
    return Node(
        metadata=ObjectMeta(name=name),
        spec=NodeSpec(unschedulable=cordoned),
        status=NodeStatus(
            conditions=(NodeCondition(type="Ready", status=ready),),
            capacity={"nvidia.com/gpu": str(gpus)},
            allocatable={"nvidia.com/gpu": str(usable)},
        ),
    )


def new_pool(
    name: str, phase: str = "Ready", *, spec: str = "g1.1", replicas: int = 1
) -> StockPool:
    return StockPool(
        metadata=ObjectMeta(name=name),
        spec=StockPoolSpec(spec_name=spec, memory="1Gi", gpu=1, replicas=replicas),
        status=StockPoolStatus(phase=phase, available=1, allocated=7),
    )


def new_operation(name: str, phase: str = "Pending", *, minute: int = 0) -> Operation:
    return Operation(
        metadata=ObjectMeta(name=name, creation_timestamp=timestamp_at(minute)),
        spec=OperationSpec(
            operation_id=name,
            type="SeedStockUnits",
            request_hash="h",
            request={"replicas": 3},
        ),
        status=OperationStatus(phase=phase),
    )


def new_function(name: str, phase: str = "", *, queued: int = 0, ready: int = 0) -> Function:
    return Function(
        metadata=ObjectMeta(name=name),
        spec=FunctionSpec(spec_name="g1.1", image="example/app:1", max_workers=4),
        status=FunctionStatus(phase=phase, queued=queued, ready_workers=ready, desired_workers=2),
    )
