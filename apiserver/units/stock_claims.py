"""Claiming stock for an operation, and giving it back."""

from dataclasses import dataclass
from typing import Any

from apiserver.clock import Clock
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.retry import Patience
from apiserver.units.stock_selection import is_claimable
from shared.v1alpha1 import stockpool, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, StockRef


@dataclass(frozen=True, slots=True)
class Claim:
    """Stock that is the operation's; `is_fresh` if it was claimed just now, and by us."""

    stock: GPUUnit
    is_fresh: bool


class Claims:
    """The mark on a stock unit, set and removed by compare-and-set only."""

    def __init__(self, objects: Objects, namespace: str, patience: Patience, clock: Clock) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience
        self._clock = clock

    async def claim(
        self, record: Operation, stock: StockRef, unit_name: str, seen: GPUUnit | None
    ) -> Claim | None:
        """Claim exactly that stock; None if it is lost to the operation for good.

        `seen` is the stock as it was just read, which saves reading it.
        """
        operation_id, attempt = record.spec.operation_id, str(record.status.attempt)
        while True:
            current = seen or await self._read(stock.name)
            seen = None
            if current is None or current.metadata.uid != stock.uid:
                return None
            is_ours = claim_operation(current) == operation_id
            if is_ours and noted_attempt(current) == attempt:
                return Claim(current, is_fresh=False)
            if not is_ours and not is_claimable(current):
                return None
            # Also what an earlier attempt has claimed: it may be being released just now.
            mark = self._mark(current, unit_name, operation_id, attempt)
            marked = await self._patch(current, mark)
            if marked is not None:
                return Claim(marked, is_fresh=not is_ours)

    async def release(self, claim: Claim) -> None:
        """Take back a claim that we have just set; the controller would do it too, but later."""
        if claim.is_fresh and wellknown.POOL_LABEL not in claim.stock.metadata.labels:
            await self._patch(claim.stock, UNMARKED)

    async def _read(self, name: str) -> GPUUnit | None:
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(GPU_UNITS, self._namespace, name)
            )
        except kube_errors.AbsentError:
            return None

    async def _patch(self, stock: GPUUnit, metadata: dict[str, Any]) -> GPUUnit | None:
        meta = stock.metadata
        condition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {"metadata": {**metadata, **condition}}
        try:
            return await self._patience.with_call(
                lambda: self._objects.patch(GPU_UNITS, self._namespace, meta.name, body)
            )
        except (kube_errors.StaleError, kube_errors.AbsentError):
            return None

    def _mark(
        self, stock: GPUUnit, unit_name: str, operation_id: str, attempt: str
    ) -> dict[str, Any]:
        """All of a claim in one write; it also takes the stock from its pool."""
        others = [
            owner for owner in stock.metadata.owner_references if owner.kind != stockpool.KIND
        ]
        return {
            "labels": {wellknown.CLAIMED_LABEL: "true"},
            "annotations": {
                wellknown.CLAIMED_BY: unit_name,
                wellknown.CLAIM_OPERATION: operation_id,
                wellknown.ATTEMPT: attempt,
                wellknown.CLAIMED_AT: self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
            "ownerReferences": others,
        }


UNMARKED = {
    "labels": {wellknown.CLAIMED_LABEL: None},
    "annotations": {
        wellknown.CLAIMED_BY: None,
        wellknown.CLAIM_OPERATION: None,
        wellknown.ATTEMPT: None,
        wellknown.CLAIMED_AT: None,
    },
}


def claim_operation(stock: GPUUnit) -> str | None:
    """The id of the operation that has the stock."""
    return stock.metadata.annotations.get(wellknown.CLAIM_OPERATION)


def noted_attempt(stock: GPUUnit) -> str | None:
    """Which attempt of the operation has claimed the stock."""
    return stock.metadata.annotations.get(wellknown.ATTEMPT)
