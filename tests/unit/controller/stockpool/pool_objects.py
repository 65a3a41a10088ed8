"""Stock pool `warm` and its units, as the server returns them."""

from typing import Any

import msgspec

from controller.kinds import STOCK_POOLS
from controller.runtime.client.ownership import controller_reference
from shared.k8s.meta import Condition, ObjectMeta, OwnerReference
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec, GPUUnitStatus
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec, StockPoolStatus
from shared.v1alpha1.wellknown import CLAIMED_LABEL, POOL_LABEL

MEMORY = "16Gi"


def new_pool(
    replicas: int = 3,
    *,
    max_unavailable: int | None = None,
    status: StockPoolStatus | None = None,
    **resources: Any,
) -> StockPool:
    spec = {"spec_name": "g1.1", "memory": MEMORY, "gpu": 1, **resources}
    return StockPool(
        metadata=ObjectMeta(
            name="warm", namespace="stock", uid="pool", resource_version="7", generation=2
        ),
        spec=StockPoolSpec(replicas=replicas, max_unavailable=max_unavailable, **spec),
        status=status or StockPoolStatus(),
    )


def new_unit(number: int, phase: str = UnitPhase.READY, **changes: Any) -> GPUUnit:
    """Return unclaimed stock of the pool; `ready` is the reason and message of Ready."""
    ready: tuple[str, str] | None = changes.pop("ready", None)
    node = changes.pop("node", "node-1" if phase == UnitPhase.READY else "")
    claimed: bool = changes.pop("claimed", False)
    deleted_at: str | None = changes.pop("deleted_at", None)
    labels = {POOL_LABEL: "warm"} | ({CLAIMED_LABEL: "true"} if claimed else {})
    return GPUUnit(
        metadata=ObjectMeta(
            name=f"warm-{number}",
            namespace="stock",
            uid=f"uid-{number}",
            resource_version="9",
            labels=labels,
            owner_references=()
            if claimed
            else (msgspec.convert(controller_reference(STOCK_POOLS, new_pool()), OwnerReference),),
            creation_timestamp="2026-11-16T00:00:00Z",
            deletion_timestamp=deleted_at,
        ),
        spec=GPUUnitSpec(**{"spec_name": "g1.1", "memory": MEMORY, "gpu": 1, **changes}),
        status=GPUUnitStatus(
            phase=phase,
            node_name=node,
            conditions=() if ready is None else (ready_condition(*ready),),
        ),
    )


def ready_condition(reason: str, message: str) -> Condition:
    return Condition(
        type="Ready",
        status="False",
        last_transition_time="2026-11-16T00:00:00Z",
        reason=reason,
        message=message,
    )
