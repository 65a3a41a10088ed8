"""The controller's part of a hand-off on the model: the product's own decisions, call by call."""

from random import Random

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import GPU_UNITS, OPERATIONS
from controller.gpuunit.handoff import claim_validity, seed_listing
from controller.gpuunit.handoff.handoff_check import (
    Entry,
    Source,
    is_admitted,
    is_held_for,
    judge,
    source_of,
)
from controller.gpuunit.handoff.seed_listing import Listing
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.model.namespaces import INSTANCE, STOCK, SYSTEM
from tests.model.scheduler import Turnstile
from tests.model.storage_locks import ModelLocks

EVERYTHING = Selection()


class ModelController:
    """Looks at every unit again and again in any order, as level-triggered work does."""

    def __init__(self, client: Objects, turnstile: Turnstile, randomness: Random) -> None:
        self._client = client
        self._turnstile = turnstile
        self._randomness = randomness
        self._storages = ModelLocks(client)

    async def run(self) -> None:
        """For ever; whatever fails is looked at again."""
        while True:
            await self.look_at_all()
            await self._turnstile.sleep(1.0)

    async def look_at_all(self) -> None:
        looks = [(INSTANCE, self._active), (STOCK, self._stock)]
        self._randomness.shuffle(looks)
        for namespace, look in looks:
            try:
                page = await self._client.list(GPU_UNITS, namespace, EVERYTHING)
            except kube_errors.ClusterError:
                continue
            for unit in page.items:
                try:
                    await look(unit)
                except kube_errors.ClusterError:
                    continue
        await self._storages.look_at_all()

    async def _active(self, unit: GPUUnit) -> None:
        source = source_of(unit)
        if source is None:
            return None
        if is_admitted(unit):
            await self._consume(source)
            return await self._storages.take(unit)
        record = await self._record(source.operation_id)
        stock = await self._get_stock(source.name)
        admission = judge(unit, source, record, stock)
        if admission.entry is Entry.STRAY:
            await self._delete(unit)
        if admission.entry is Entry.ELIGIBLE and record is not None:
            await self._close(record, unit)
        if admission.entry in (Entry.ELIGIBLE, Entry.ADMITTED):
            await self._note(unit, {wellknown.ADMITTED: "node"})
        return None

    async def _consume(self, source: Source) -> None:
        stock = await self._get_stock(source.name)
        if stock is not None and is_held_for(stock, source):
            await self._delete(stock)

    async def _stock(self, stock: GPUUnit) -> None:
        if not seed_listing.is_marked(stock):
            operation_id = stock.metadata.annotations[wellknown.OPERATION_ID]
            listing = seed_listing.judge(stock, await self._record(operation_id))
            if listing is Listing.STRAY:
                return await self._delete(stock)
            if listing is Listing.LISTED:
                await self._note(stock, {wellknown.LISTED: "true"})
            return None
        if not stock.status.phase:
            await self._ready(stock)
        if claim_validity.is_claimed(stock):
            await self._release_if_void(stock)
        return None

    async def _release_if_void(self, stock: GPUUnit) -> None:
        record = await self._record(claim_validity.claim_operation(stock))
        uid = None
        if record is not None and record.status.objects:
            try:
                made = record.status.objects[0]
                uid = (await self._client.get(GPU_UNITS, INSTANCE, made.name)).metadata.uid
            except kube_errors.AbsentError:
                uid = None
        if claim_validity.void(stock, record, uid) is not None:
            body = claim_validity.release_patch(stock, None)
            await self._client.patch(GPU_UNITS, STOCK, stock.metadata.name, body)

    async def _record(self, operation_id: str) -> Operation | None:
        try:
            return await self._client.get(OPERATIONS, SYSTEM, names.operation(operation_id))
        except kube_errors.AbsentError:
            return None

    async def _get_stock(self, name: str) -> GPUUnit | None:
        try:
            return await self._client.get(GPU_UNITS, STOCK, name)
        except kube_errors.AbsentError:
            return None

    async def _close(self, record: Operation, unit: GPUUnit) -> None:
        meta = unit.metadata
        made = {"kind": "GPUUnit", "namespace": INSTANCE, "name": meta.name, "uid": meta.uid}
        body = {
            "metadata": {"resourceVersion": record.metadata.resource_version},
            "status": {"phase": "Succeeded", "created": 1, "objects": [made]},
        }
        await self._client.patch(OPERATIONS, SYSTEM, record.metadata.name, body, "status")

    async def _note(self, unit: GPUUnit, notes: dict[str, str]) -> None:
        meta = unit.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": notes}}
        await self._client.patch(GPU_UNITS, meta.namespace, meta.name, body)

    async def _ready(self, unit: GPUUnit) -> None:
        meta = unit.metadata
        seen = {"resourceVersion": meta.resource_version}
        body = {"metadata": seen, "status": {"phase": "Ready"}}
        await self._client.patch(GPU_UNITS, meta.namespace, meta.name, body, "status")

    async def _delete(self, unit: GPUUnit) -> None:
        meta = unit.metadata
        try:
            await self._client.delete(
                GPU_UNITS,
                meta.namespace,
                meta.name,
                uid=meta.uid,
                resource_version=meta.resource_version,
            )
        except (kube_errors.AbsentError, kube_errors.StaleError):
            return
