"""Claims stock for an operation, and releases it."""

from dataclasses import dataclass
from typing import Any

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ObjectClient
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.retry import Retry
from apiserver.units.stock_selection import is_claimable
from shared.clock import Clock
from shared.time import format_timestamp
from shared.v1alpha1 import stockpool, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, StockRef
from shared.v1alpha1.stock_claim import (
    claim_metadata,
    claiming_attempt,
    claiming_operation_id,
    released_metadata,
)


@dataclass(frozen=True, slots=True)
class StockClaim:
    """Stock that the operation has claimed; `is_new` if this call has claimed it."""

    stock_unit: GPUUnit
    is_new: bool


class StockClaims:
    """Sets and removes the stock claim of a stock unit, with conditional writes only."""

    def __init__(self, objects: ObjectClient, namespace: str, retry: Retry, clock: Clock) -> None:
        self._objects = objects
        self._namespace = namespace
        self._retry = retry
        self._clock = clock

    async def acquire(
        self, operation: Operation, stock_ref: StockRef, unit_name: str, cached: GPUUnit | None
    ) -> StockClaim | None:
        """Claim the stock unit; None if another operation has claimed it or it no longer exists.

        `cached` is the stock unit as it was just read; this saves another read.
        """
        operation_id, attempt = operation.spec.operation_id, str(operation.status.attempt)
        while True:
            current = cached or await self._read(stock_ref.name)
            cached = None
            if current is None or current.metadata.uid != stock_ref.uid:
                return None
            is_ours = claiming_operation_id(current) == operation_id
            if is_ours and claiming_attempt(current) == attempt:
                return StockClaim(current, is_new=False)
            if not is_ours and not is_claimable(current):
                return None
            # A claim of an earlier attempt is renewed too: the controller may be releasing it.
            metadata = self._claim_metadata(current, unit_name, operation_id, attempt)
            claimed = await self._patch(current, metadata)
            if claimed is not None:
                return StockClaim(claimed, is_new=not is_ours)

    async def release(self, stock_claim: StockClaim) -> None:
        """Release a stock claim that was set just now; the controller would do it later."""
        if (
            stock_claim.is_new
            and wellknown.POOL_LABEL not in stock_claim.stock_unit.metadata.labels
        ):
            await self._patch(stock_claim.stock_unit, released_metadata())

    async def _read(self, name: str) -> GPUUnit | None:
        try:
            return await self._retry.call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except kube_errors.NotFoundError:
            return None

    async def _patch(self, stock_unit: GPUUnit, metadata: dict[str, Any]) -> GPUUnit | None:
        meta = stock_unit.metadata
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {"metadata": {**metadata, **preconditions}}
        try:
            return await self._retry.call(
                lambda: self._objects.patch(GPU_UNITS, self._namespace, meta.name, body)
            )
        except (kube_errors.ConflictError, kube_errors.NotFoundError):
            return None

    def _claim_metadata(
        self, stock_unit: GPUUnit, unit_name: str, operation_id: str, attempt: str
    ) -> dict[str, Any]:
        """Return the metadata of a stock claim, which also removes the stock from its pool."""
        other_owners = [
            owner for owner in stock_unit.metadata.owner_references if owner.kind != stockpool.KIND
        ]
        claimed_at = format_timestamp(self._clock.now())
        return {
            **claim_metadata(unit_name, operation_id, attempt, claimed_at),
            "ownerReferences": other_owners,
        }
