"""What happens to stock besides running: it is listed, claimed, released, or found to be stray."""

from controller.caches import Caches
from controller.gpuunit.handoff import claim_validity, seed_listing
from controller.gpuunit.handoff.seed_listing import Listing
from controller.kinds import GPU_UNITS
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Condition
from controller.runtime.client.kind import key_of
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPool


class Stockkeeping:
    """Decides by the cache where a mistake costs nothing, else by asking the server."""

    def __init__(
        self, caches: Caches, lookup: Lookup, writer: Writer, recorder: EventRecorder
    ) -> None:
        self._caches = caches
        self._lookup = lookup
        self._writer = writer
        self._recorder = recorder

    async def settle_listing(self, stock: GPUUnit) -> Listing:
        """Mark what is listed, delete what never will be."""
        operation_id = stock.metadata.annotations.get(wellknown.OPERATION_ID, "")
        listing = seed_listing.judge(stock, self._lookup.record(operation_id))
        if listing is Listing.STRAY:
            listing = seed_listing.judge(stock, await self._lookup.live_record(operation_id))
        if listing is Listing.STRAY:
            said = f"operation {operation_id!r} does not list this unit"
            await self._delete(stock, EventReason.STRAY_DELETED, said)
        if listing is Listing.LISTED:
            marks = {wellknown.LISTED: "true"}
            body = {"metadata": {"uid": stock.metadata.uid, "annotations": marks}}
            await self._writer.patch(GPU_UNITS, key_of(stock), body)
            return Listing.MARKED
        return listing

    async def release_void_claim(self, stock: GPUUnit) -> bool:
        """Take a claim away that nobody stands behind; whether that was so."""
        why = await self._void(stock)
        if why is None:
            return False
        pool = self._pool(stock)
        if pool is None and wellknown.POOL_LABEL in stock.metadata.labels:
            await self._delete(stock, EventReason.RELEASED, f"{why}, and its pool is gone")
            return True
        await self._writer.patch(
            GPU_UNITS, key_of(stock), claim_validity.release_patch(stock, pool)
        )
        self._recorder.normal(reference(GPU_UNITS, stock), EventReason.RELEASED, why)
        return True

    async def _void(self, stock: GPUUnit) -> str | None:
        """Why the claim is void: suspected from the cache, confirmed by the server."""
        operation_id = claim_validity.claim_operation(stock)
        record = self._lookup.record(operation_id)
        if claim_validity.void(stock, record, self._cached_uid(record)) is None:
            return None
        record = await self._lookup.live_record(operation_id)
        unit_uid = None
        if record is not None and record.status.objects:
            unit_uid = await self._lookup.live_unit_uid(record.status.objects[0].name)
        return claim_validity.void(stock, record, unit_uid)

    def _cached_uid(self, record: Operation | None) -> str | None:
        if record is None or not record.status.objects:
            return None
        made = record.status.objects[0]
        unit = self._caches.units.get(ObjectKey(made.namespace, made.name))
        return None if unit is None else unit.metadata.uid

    def _pool(self, stock: GPUUnit) -> StockPool | None:
        name = stock.metadata.labels.get(wellknown.POOL_LABEL, "")
        return self._caches.pools.get(ObjectKey(stock.metadata.namespace, name))

    async def _delete(self, stock: GPUUnit, reason: EventReason, why: str) -> None:
        meta = stock.metadata
        self._recorder.warning(reference(GPU_UNITS, stock), reason, why)
        condition = Condition(uid=meta.uid, resource_version=meta.resource_version)
        await self._writer.delete(GPU_UNITS, key_of(stock), condition)
