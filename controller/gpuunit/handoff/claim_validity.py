"""Whether the claim on a stock unit still stands."""

from typing import Any

from controller.kinds import STOCK_POOLS
from controller.runtime.client.ownership import controlled_by
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.stockpool import StockPool

CLAIM_NOTES = (
    wellknown.CLAIMED_BY,
    wellknown.CLAIM_OPERATION,
    wellknown.CLAIMED_AT,
    wellknown.ATTEMPT,
)


def is_claimed(stock: GPUUnit) -> bool:
    """Half a claim is one too, until it is released."""
    meta = stock.metadata
    return wellknown.CLAIMED_LABEL in meta.labels or wellknown.CLAIM_OPERATION in meta.annotations


def claim_operation(stock: GPUUnit) -> str:
    """The id of the operation that claims; empty where nobody said."""
    return stock.metadata.annotations.get(wellknown.CLAIM_OPERATION, "")


def claimed_by(stock: GPUUnit) -> str | None:
    """The name of the unit that claims; None where nobody does."""
    return stock.metadata.annotations.get(wellknown.CLAIMED_BY, "") if is_claimed(stock) else None


def void(stock: GPUUnit, record: Operation | None, unit_uid: str | None) -> str | None:
    """Why the claim no longer stands, or None; `unit_uid` is of the unit that the record names."""
    if record is None:
        return f"there is no record of operation {claim_operation(stock)!r}"
    if record.status.phase == OperationPhase.FAILED:
        return f"operation {record.spec.operation_id!r} has failed"
    if record.spec.stock is None or record.spec.stock.uid != stock.metadata.uid:
        return f"operation {record.spec.operation_id!r} has other stock"
    made = {found.uid for found in record.status.objects}
    if record.status.phase == OperationPhase.SUCCEEDED and unit_uid not in made:
        return f"the unit of operation {record.spec.operation_id!r} is gone"
    return None


def release_patch(stock: GPUUnit, pool: StockPool | None) -> dict[str, Any]:
    """Takes the claim away, and gives the stock back to its pool."""
    metadata: dict[str, Any] = {
        "resourceVersion": stock.metadata.resource_version,
        "labels": {wellknown.CLAIMED_LABEL: None},
        "annotations": dict.fromkeys(CLAIM_NOTES),
    }
    if pool is not None:
        metadata["ownerReferences"] = [controlled_by(STOCK_POOLS, pool)]
    return {"metadata": metadata}
