"""Lifecycle of stock apart from running: listed, claimed, released, or stray."""

from controller.caches import Caches
from controller.gpuunit.handoff import claim_validity, seed_listing
from controller.gpuunit.handoff.seed_listing import SeedListing
from controller.kinds import GPU_UNITS
from controller.object_reader import ObjectReader
from controller.runtime import (
    EventRecorder,
    ObjectKey,
    Preconditions,
    Writer,
    key_of,
    object_reference,
)
from shared.v1alpha1 import stock_claim, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPool


class StockLifecycle:
    """Lifecycle decisions: by the cache if a mistake is harmless, otherwise by the server."""

    def __init__(
        self, caches: Caches, reader: ObjectReader, writer: Writer, recorder: EventRecorder
    ) -> None:
        self._caches = caches
        self._reader = reader
        self._writer = writer
        self._recorder = recorder

    async def settle_seed_listing(self, stock: GPUUnit) -> SeedListing:
        """Mark a listed unit; delete a unit that will never be listed."""
        operation_id = stock.metadata.annotations.get(wellknown.OPERATION_ID_ANNOTATION, "")
        listing = seed_listing.seed_listing(stock, self._reader.cached_operation(operation_id))
        if listing is SeedListing.STRAY:
            listing = seed_listing.seed_listing(
                stock, await self._reader.live_operation(operation_id)
            )
        if listing is SeedListing.STRAY:
            message = f"operation {operation_id!r} does not list this unit"
            await self._delete(stock, EventReason.STRAY_DELETED, message)
        if listing is SeedListing.LISTED:
            annotations = {wellknown.LISTED_ANNOTATION: "true"}
            body = {"metadata": {"uid": stock.metadata.uid, "annotations": annotations}}
            await self._writer.patch(GPU_UNITS, key_of(stock), body)
            return SeedListing.MARKED
        return listing

    async def release_orphaned_claim(self, stock: GPUUnit) -> bool:
        """Release a stock claim that has no valid operation; return whether it was released."""
        reason = await self._orphaned_claim_reason(stock)
        if reason is None:
            return False
        pool = self._pool(stock)
        if pool is None and wellknown.POOL_LABEL in stock.metadata.labels:
            await self._delete(
                stock, EventReason.RELEASED, f"{reason}, and its pool no longer exists"
            )
            return True
        await self._writer.patch(
            GPU_UNITS, key_of(stock), claim_validity.claim_release_patch(stock, pool)
        )
        self._recorder.normal(object_reference(GPU_UNITS, stock), EventReason.RELEASED, reason)
        return True

    async def _orphaned_claim_reason(self, stock: GPUUnit) -> str | None:
        """Return why the stock claim is invalid; None if it is valid.

        An invalid claim in the cache is confirmed at the server.
        """
        operation_id = stock_claim.claiming_operation_id(stock)
        operation = self._reader.cached_operation(operation_id)
        if (
            claim_validity.orphaned_claim_reason(stock, operation, self._cached_unit_uid(operation))
            is None
        ):
            return None
        operation = await self._reader.live_operation(operation_id)
        unit_uid = None
        if operation is not None and operation.status.objects:
            unit_uid = await self._reader.live_unit_uid(operation.status.objects[0].name)
        return claim_validity.orphaned_claim_reason(stock, operation, unit_uid)

    def _cached_unit_uid(self, operation: Operation | None) -> str | None:
        if operation is None or not operation.status.objects:
            return None
        created = operation.status.objects[0]
        unit = self._caches.units.get(ObjectKey(created.namespace, created.name))
        return None if unit is None else unit.metadata.uid

    def _pool(self, stock: GPUUnit) -> StockPool | None:
        name = stock.metadata.labels.get(wellknown.POOL_LABEL, "")
        return self._caches.pools.get(ObjectKey(stock.metadata.namespace, name))

    async def _delete(self, stock: GPUUnit, reason: EventReason, message: str) -> None:
        meta = stock.metadata
        self._recorder.warning(object_reference(GPU_UNITS, stock), reason, message)
        preconditions = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(stock), preconditions)
