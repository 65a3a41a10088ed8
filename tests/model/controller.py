"""The controller's part of a hand-off on the model: the product's decisions, call by call."""

from random import Random

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import GPU_UNITS, OPERATIONS
from controller.gpuunit.handoff import claim_validity, seed_listing
from controller.gpuunit.handoff.handoff_check import HandoffDecision, check_handoff, is_admitted
from controller.gpuunit.handoff.seed_listing import SeedListing
from controller.gpuunit.source_stock import SourceStock, is_claimed_for, source_stock_of
from shared.v1alpha1 import names, stock_claim, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from tests.model.scheduler import DeterministicScheduler
from tests.model.storage_locks import ModelStorageLocks

ALL_OBJECTS = ListOptions()


class ModelController:
    """A controller that reconciles every unit periodically, in random order."""

    def __init__(
        self, gateway: ObjectClient, scheduler: DeterministicScheduler, randomness: Random
    ) -> None:
        self._gateway = gateway
        self._scheduler = scheduler
        self._randomness = randomness
        self._storage_locks = ModelStorageLocks(gateway)

    async def run(self) -> None:
        """Reconcile until cancelled; a failed unit is retried in the next round."""
        while True:
            await self.reconcile_all()
            await self._scheduler.sleep(1.0)

    async def reconcile_all(self) -> None:
        rounds = [
            (INSTANCE_NAMESPACE, self._reconcile_active),
            (STOCK_NAMESPACE, self._reconcile_stock),
        ]
        self._randomness.shuffle(rounds)
        for namespace, reconcile in rounds:
            try:
                page = await self._gateway.list(GPU_UNITS, namespace, ALL_OBJECTS)
            except kube_errors.KubeError:
                continue
            for unit in page.items:
                try:
                    await reconcile(unit)
                except kube_errors.KubeError:
                    continue
        await self._storage_locks.release_orphaned_locks()

    async def _reconcile_active(self, unit: GPUUnit) -> None:
        source = source_stock_of(unit)
        if source is None:
            return None
        if is_admitted(unit):
            await self._consume_stock(source)
            return await self._storage_locks.take_locks(unit)
        operation = await self._get_operation(source.operation_id)
        stock = await self._get_stock(source.name)
        check = check_handoff(unit, source, operation, stock)
        if check.decision is HandoffDecision.STRAY:
            await self._delete_unit(unit)
        if check.decision is HandoffDecision.ELIGIBLE and operation is not None:
            await self._close_operation(operation, unit)
        if check.decision in (HandoffDecision.ELIGIBLE, HandoffDecision.ADMITTED):
            await self._annotate(unit, {wellknown.ADMITTED_ANNOTATION: "node"})
        return None

    async def _consume_stock(self, source: SourceStock) -> None:
        stock = await self._get_stock(source.name)
        if stock is not None and is_claimed_for(stock, source):
            await self._delete_unit(stock)

    async def _reconcile_stock(self, stock: GPUUnit) -> None:
        if not seed_listing.is_listing_settled(stock):
            operation_id = stock.metadata.annotations[wellknown.OPERATION_ID_ANNOTATION]
            listing = seed_listing.seed_listing(stock, await self._get_operation(operation_id))
            if listing is SeedListing.STRAY:
                return await self._delete_unit(stock)
            if listing is SeedListing.LISTED:
                await self._annotate(stock, {wellknown.LISTED_ANNOTATION: "true"})
            return None
        if not stock.status.phase:
            await self._report_ready(stock)
        if stock_claim.is_claimed(stock):
            await self._release_orphaned_claim(stock)
        return None

    async def _release_orphaned_claim(self, stock: GPUUnit) -> None:
        operation = await self._get_operation(stock_claim.claiming_operation_id(stock))
        uid = None
        if operation is not None and operation.status.objects:
            try:
                entry = operation.status.objects[0]
                uid = (
                    await self._gateway.get(GPU_UNITS, INSTANCE_NAMESPACE, entry.name)
                ).metadata.uid
            except kube_errors.NotFoundError:
                uid = None
        if claim_validity.orphaned_claim_reason(stock, operation, uid) is not None:
            body = claim_validity.claim_release_patch(stock, None)
            await self._gateway.patch(GPU_UNITS, STOCK_NAMESPACE, stock.metadata.name, body)

    async def _get_operation(self, operation_id: str) -> Operation | None:
        try:
            return await self._gateway.get(
                OPERATIONS, SYSTEM_NAMESPACE, names.operation_name(operation_id)
            )
        except kube_errors.NotFoundError:
            return None

    async def _get_stock(self, name: str) -> GPUUnit | None:
        try:
            return await self._gateway.get(GPU_UNITS, STOCK_NAMESPACE, name)
        except kube_errors.NotFoundError:
            return None

    async def _close_operation(self, operation: Operation, unit: GPUUnit) -> None:
        meta = unit.metadata
        entry = {
            "kind": "GPUUnit",
            "namespace": INSTANCE_NAMESPACE,
            "name": meta.name,
            "uid": meta.uid,
        }
        body = {
            "metadata": {"resourceVersion": operation.metadata.resource_version},
            "status": {"phase": "Succeeded", "created": 1, "objects": [entry]},
        }
        await self._gateway.patch(
            OPERATIONS, SYSTEM_NAMESPACE, operation.metadata.name, body, "status"
        )

    async def _annotate(self, unit: GPUUnit, annotations: dict[str, str]) -> None:
        meta = unit.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": annotations}}
        await self._gateway.patch(GPU_UNITS, meta.namespace, meta.name, body)

    async def _report_ready(self, unit: GPUUnit) -> None:
        meta = unit.metadata
        precondition = {"resourceVersion": meta.resource_version}
        body = {"metadata": precondition, "status": {"phase": "Ready"}}
        await self._gateway.patch(GPU_UNITS, meta.namespace, meta.name, body, "status")

    async def _delete_unit(self, unit: GPUUnit) -> None:
        meta = unit.metadata
        try:
            await self._gateway.delete(
                GPU_UNITS,
                meta.namespace,
                meta.name,
                uid=meta.uid,
                resource_version=meta.resource_version,
            )
        except (kube_errors.NotFoundError, kube_errors.ConflictError):
            return
