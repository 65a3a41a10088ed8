"""The controller's part of storage locks on the model: the product's decisions."""

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import GPU_STORAGES, GPU_UNITS, OPERATIONS
from controller.gpustorage.locks.validity import (
    created_unit_uid,
    is_operation_lock_orphaned,
    is_unit_lock_orphaned,
)
from controller.gpuunit.storage_lock_ownership import (
    desired_lock,
    is_lock_confirmed,
    is_lock_held_by,
)
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.storage_lock import StorageLock, lock_patch, parse_storage_lock, unlock_patch
from tests.model.namespaces import INSTANCE_NAMESPACE, SYSTEM_NAMESPACE


class ModelStorageLocks:
    """The storage locks of all units: confirms them, and releases orphaned ones."""

    def __init__(self, gateway: ObjectClient) -> None:
        self._gateway = gateway
        self._mounted: set[tuple[str, str]] = set()

    async def take_locks(self, unit: GPUUnit) -> None:
        """Confirm the locks of an admitted unit in name order; a confirmed lock must stay."""
        for name in sorted(mount.name for mount in unit.spec.storage_mounts):
            storage = await self._gateway.get(GPU_STORAGES, INSTANCE_NAMESPACE, name)
            lock, pair = parse_storage_lock(storage.metadata.annotations), (unit.metadata.uid, name)
            is_mounted = pair in self._mounted
            is_own = lock is not None and is_lock_held_by(unit, lock)
            assert is_own or not is_mounted, f"{name} was taken from {unit.metadata.name}: {lock}"
            if lock is not None and not is_own:
                return
            if not is_lock_confirmed(unit, lock, is_mounted=is_mounted):
                body = lock_patch(storage.metadata, desired_lock(unit))
                await self._gateway.patch(GPU_STORAGES, INSTANCE_NAMESPACE, name, body)
            self._mounted.add(pair)

    async def release_orphaned_locks(self) -> None:
        """Release all orphaned locks once; a failed storage is retried in the next round."""
        try:
            page = await self._gateway.list(GPU_STORAGES, INSTANCE_NAMESPACE, ListOptions())
        except kube_errors.KubeError:
            return
        for storage in page.items:
            try:
                await self._release_if_orphaned(storage)
            except kube_errors.KubeError:
                continue

    async def _release_if_orphaned(self, storage: GPUStorage) -> None:
        meta, lock = storage.metadata, parse_storage_lock(storage.metadata.annotations)
        if lock is not None and await self._is_orphaned(meta.name, lock):
            await self._gateway.patch(
                GPU_STORAGES, INSTANCE_NAMESPACE, meta.name, unlock_patch(meta)
            )

    async def _is_orphaned(self, storage_name: str, lock: StorageLock) -> bool:
        """Return whether the operation is absent or failed, or the unit that it created is gone."""
        if not lock.uid:
            operation = await self._get_operation(lock.operation)
            lock = msgspec.structs.replace(lock, uid=created_unit_uid(operation))
            if not lock.uid:
                return is_operation_lock_orphaned(operation)
        return is_unit_lock_orphaned(lock, storage_name, await self._get_unit(lock.unit))

    async def _get_operation(self, operation_id: str) -> Operation | None:
        try:
            return await self._gateway.get(
                OPERATIONS, SYSTEM_NAMESPACE, names.operation_name(operation_id)
            )
        except kube_errors.NotFoundError:
            return None

    async def _get_unit(self, name: str) -> GPUUnit | None:
        try:
            return await self._gateway.get(GPU_UNITS, INSTANCE_NAMESPACE, name)
        except kube_errors.NotFoundError:
            return None
