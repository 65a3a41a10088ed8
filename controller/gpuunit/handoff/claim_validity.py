"""Whether the claim on a stock unit still stands."""

from typing import Any

from controller.kinds import STOCK_POOLS
from controller.runtime import controller_reference
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.stockpool import StockPool

CLAIM_ANNOTATIONS = (
    wellknown.CLAIMED_BY_ANNOTATION,
    wellknown.CLAIM_OPERATION_ANNOTATION,
    wellknown.CLAIMED_AT_ANNOTATION,
    wellknown.ATTEMPT_ANNOTATION,
)


def is_claimed(stock: GPUUnit) -> bool:
    """Half a claim is one too, until it is released."""
    meta = stock.metadata
    return (
        wellknown.CLAIMED_LABEL in meta.labels
        or wellknown.CLAIM_OPERATION_ANNOTATION in meta.annotations
    )


def claim_operation_id(stock: GPUUnit) -> str:
    """The id of the operation that claims; empty where nobody said."""
    return stock.metadata.annotations.get(wellknown.CLAIM_OPERATION_ANNOTATION, "")


def claiming_unit_name(stock: GPUUnit) -> str | None:
    """The name of the unit that claims; None where nobody does."""
    return (
        stock.metadata.annotations.get(wellknown.CLAIMED_BY_ANNOTATION, "")
        if is_claimed(stock)
        else None
    )


def orphaned_claim_reason(
    stock: GPUUnit, operation: Operation | None, unit_uid: str | None
) -> str | None:
    """Why the claim no longer stands, or None; `unit_uid` is of the unit that the record names."""
    if operation is None:
        return f"there is no record of operation {claim_operation_id(stock)!r}"
    if operation.status.phase == OperationPhase.FAILED:
        return f"operation {operation.spec.operation_id!r} has failed"
    if operation.spec.stock is None or operation.spec.stock.uid != stock.metadata.uid:
        return f"operation {operation.spec.operation_id!r} has other stock"
    made = {found.uid for found in operation.status.objects}
    if operation.status.phase == OperationPhase.SUCCEEDED and unit_uid not in made:
        return f"the unit of operation {operation.spec.operation_id!r} is gone"
    return None


def claim_release_patch(stock: GPUUnit, pool: StockPool | None) -> dict[str, Any]:
    """Takes the claim away, and gives the stock back to its pool."""
    metadata: dict[str, Any] = {
        "resourceVersion": stock.metadata.resource_version,
        "labels": {wellknown.CLAIMED_LABEL: None},
        "annotations": dict.fromkeys(CLAIM_ANNOTATIONS),
    }
    if pool is not None:
        metadata["ownerReferences"] = [controller_reference(STOCK_POOLS, pool)]
    return {"metadata": metadata}
