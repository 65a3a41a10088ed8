"""Validity of the stock claim on a stock unit, as pure functions."""

from typing import Any

from controller.kinds import STOCK_POOLS
from controller.runtime import controller_reference
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.stock_claim import claiming_operation_id, released_metadata
from shared.v1alpha1.stockpool import StockPool


def orphaned_claim_reason(
    stock: GPUUnit, operation: Operation | None, unit_uid: str | None
) -> str | None:
    """Return why the stock claim is no longer valid; None if it is valid.

    `unit_uid` is the uid of the unit that the operation has created; None if the unit is gone.
    """
    if operation is None:
        return f"operation {claiming_operation_id(stock)!r} does not exist"
    if operation.status.phase == OperationPhase.FAILED:
        return f"operation {operation.spec.operation_id!r} has failed"
    if operation.spec.stock is None or operation.spec.stock.uid != stock.metadata.uid:
        return f"operation {operation.spec.operation_id!r} does not claim this stock unit"
    created_uids = {created.uid for created in operation.status.objects}
    if operation.status.phase == OperationPhase.SUCCEEDED and unit_uid not in created_uids:
        return f"the unit of operation {operation.spec.operation_id!r} no longer exists"
    return None


def claim_release_patch(stock: GPUUnit, pool: StockPool | None) -> dict[str, Any]:
    """Return the patch that releases the stock claim and returns the stock to its pool."""
    metadata: dict[str, Any] = {
        "resourceVersion": stock.metadata.resource_version,
        **released_metadata(),
    }
    if pool is not None:
        metadata["ownerReferences"] = [controller_reference(STOCK_POOLS, pool)]
    return {"metadata": metadata}
