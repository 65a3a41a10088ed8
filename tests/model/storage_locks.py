"""The controller's part of the locks of storages, on the model: the product's own decisions."""

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS, OPERATIONS
from controller.gpustorage.locks.validity import is_void_for_operation, is_void_for_unit, made_unit
from controller.gpuunit.storage_lock_ownership import is_confirmed, is_lock_of, wanted_lock
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.storage_lock import StorageLock, freeing, lock_of, taking
from tests.model.namespaces import INSTANCE, SYSTEM


class ModelLocks:
    """Names the units that hold locks, and frees what no operation and no unit needs."""

    def __init__(self, client: Objects) -> None:
        self._client = client
        self._mounted: set[tuple[str, str]] = set()

    async def take(self, unit: GPUUnit) -> None:
        """Make the locks of an admitted unit its own, in the order of their names; for good."""
        for name in sorted(mount.name for mount in unit.spec.storage_mounts):
            storage = await self._client.get(GPU_STORAGES, INSTANCE, name)
            lock, pair = lock_of(storage.metadata.annotations), (unit.metadata.uid, name)
            is_mounted = pair in self._mounted
            is_ours = lock is not None and is_lock_of(unit, lock)
            assert is_ours or not is_mounted, f"{name} was taken from {unit.metadata.name}: {lock}"
            if lock is not None and not is_ours:
                return
            if not is_confirmed(unit, lock, is_mounted=is_mounted):
                body = taking(storage.metadata, wanted_lock(unit))
                await self._client.patch(GPU_STORAGES, INSTANCE, name, body)
            self._mounted.add(pair)

    async def look_at_all(self) -> None:
        """Once; whatever fails is looked at again."""
        try:
            page = await self._client.list(GPU_STORAGES, INSTANCE, Selection())
        except kube_errors.ClusterError:
            return
        for storage in page.items:
            try:
                await self._look(storage)
            except kube_errors.ClusterError:
                continue

    async def _look(self, storage: GPUStorage) -> None:
        meta, lock = storage.metadata, lock_of(storage.metadata.annotations)
        if lock is not None and await self._is_void(meta.name, lock):
            await self._client.patch(GPU_STORAGES, INSTANCE, meta.name, freeing(meta))

    async def _is_void(self, storage: str, lock: StorageLock) -> bool:
        """Its record is absent or failed, or the unit that it has made is gone."""
        if not lock.uid:
            record = await self._record(lock.operation)
            lock = msgspec.structs.replace(lock, uid=made_unit(record))
            if not lock.uid:
                return is_void_for_operation(record)
        return is_void_for_unit(lock, storage, await self._unit(lock.unit))

    async def _record(self, operation_id: str) -> Operation | None:
        try:
            return await self._client.get(OPERATIONS, SYSTEM, names.operation(operation_id))
        except kube_errors.AbsentError:
            return None

    async def _unit(self, name: str) -> GPUUnit | None:
        try:
            return await self._client.get(GPU_UNITS, INSTANCE, name)
        except kube_errors.AbsentError:
            return None
