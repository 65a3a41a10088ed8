"""Reader of operations, units and storages for decisions that need more than a cache."""

from collections.abc import Sequence
from typing import TypeVar

from controller.caches import BY_OPERATION, Caches
from controller.kinds import (
    GPU_STORAGES,
    GPU_UNITS,
    JOBS,
    OPERATIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
)
from controller.namespaces import Namespaces
from controller.runtime import Client, Kind, NotFoundError, Object, ObjectKey
from shared.k8s.job import Job
from shared.k8s.pod import Pod
from shared.k8s.pvc import PersistentVolumeClaim
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.wellknown import OPERATION_LABEL

T = TypeVar("T", bound=Object)


class ObjectReader:
    """Reader of operations, units and storages.

    `cached_*` methods read the cache, `live_*` methods read the server.
    """

    def __init__(self, caches: Caches, client: Client, namespaces: Namespaces) -> None:
        self._caches = caches
        self._client = client
        self._namespaces = namespaces

    def cached_operation(self, operation_id: str) -> Operation | None:
        return self._caches.operations.get(self._operation_key(operation_id))

    def cached_stock(self, name: str) -> GPUUnit | None:
        return self._caches.units.get(self._stock_key(name))

    def _stock_key(self, name: str) -> ObjectKey:
        return ObjectKey(self._namespaces.stock, name)

    def cached_units_of(self, operation_id: str) -> list[GPUUnit]:
        """Return the units that the operation created, and the stock that it claims."""
        return [
            unit
            for namespace in self._namespaces.units
            for unit in self._caches.units.by_index(namespace, BY_OPERATION, operation_id)
        ]

    async def live_operation(self, operation_id: str) -> Operation | None:
        return await self._get_live(OPERATIONS, self._operation_key(operation_id))

    async def live_stock(self, name: str) -> GPUUnit | None:
        return await self._get_live(GPU_UNITS, self._stock_key(name))

    async def live_unit(self, name: str) -> GPUUnit | None:
        """Return the user's unit of that name; None if there is none."""
        return await self._get_live(GPU_UNITS, ObjectKey(self._namespaces.instance, name))

    async def live_units_of(self, operation: Operation) -> list[GPUUnit]:
        """Return the stock that the operation seeded; or the stock that it claims and its units."""
        if operation.spec.type == OperationType.SEED_STOCK_UNITS:
            label = f"{OPERATION_LABEL}={names.label_hash(operation.spec.operation_id)}"
            query = {"labelSelector": label}
            return (await self._client.list(GPU_UNITS, self._namespaces.stock, query)).items
        if operation.spec.stock is None:
            return []
        units = [await self.live_stock(operation.spec.stock.name)]
        units += [await self.live_unit(created.name) for created in operation.status.objects]
        return [unit for unit in units if unit is not None]

    async def live_storage(self, name: str) -> GPUStorage | None:
        """Return the storage of that name; None if there is none."""
        return await self._get_live(GPU_STORAGES, ObjectKey(self._namespaces.instance, name))

    async def live_prepare_job(self, storage_name: str) -> Job | None:
        """Return the prepare Job of the storage; None if there is none."""
        key = ObjectKey(self._namespaces.instance, names.prepare_job_name(storage_name))
        return await self._get_live(JOBS, key)

    async def live_pvc(self, storage_name: str) -> PersistentVolumeClaim | None:
        """Return the PVC of the storage of that name; None if there is none."""
        return await self._get_live(
            PERSISTENT_VOLUME_CLAIMS, ObjectKey(self._namespaces.instance, storage_name)
        )

    async def live_pods(self, label_selector: str) -> Sequence[Pod]:
        """Return users' pods with these labels; with an empty selector all of them."""
        query = {"labelSelector": label_selector} if label_selector else {}
        return (await self._client.list(PODS, self._namespaces.instance, query)).items

    async def live_unit_uid(self, name: str) -> str | None:
        """Return the uid of the user's unit; None if there is none of that name."""
        unit = await self.live_unit(name)
        return None if unit is None else unit.metadata.uid

    def _operation_key(self, operation_id: str) -> ObjectKey:
        return ObjectKey(self._namespaces.system, names.operation_name(operation_id))

    async def _get_live(self, kind: Kind[T], key: ObjectKey) -> T | None:
        if not key.name:
            return None
        try:
            return await self._client.get(kind, key)
        except NotFoundError:
            return None
