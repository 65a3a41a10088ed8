"""Reconciler of storage locks: releases a lock that has no valid holder any more."""

from typing import Any

import msgspec

from controller.caches import Caches
from controller.gpustorage.locks.users import is_volume_in_use, require_unused_volume
from controller.gpustorage.locks.validity import (
    created_unit_uid,
    is_operation_lock_orphaned,
    is_prepare_lock_orphaned,
    is_unit_lock_orphaned,
)
from controller.kinds import GPU_STORAGES
from controller.object_reader import ObjectReader
from controller.runtime import EventRecorder, ObjectKey, Writer, key_of, object_reference
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.storage_lock import (
    StorageLock,
    parse_storage_lock,
    protect_patch,
    unlock_patch,
)
from shared.v1alpha1.wellknown import MOUNT_FINALIZER


class LockReconciler:
    """Reconciler that confirms at the server what the cache says before it releases a lock.

    It writes only to the storage that was read.
    """

    def __init__(
        self, caches: Caches, reader: ObjectReader, writer: Writer, recorder: EventRecorder
    ) -> None:
        self._caches = caches
        self._reader = reader
        self._writer = writer
        self._recorder = recorder

    async def reconcile_lock(self, storage: GPUStorage) -> None:
        """Release an orphaned lock, and write the finalizer of the storage.

        The finalizer keeps a storage in use from deletion; a free storage has none.
        """
        meta, lock = storage.metadata, parse_storage_lock(storage.metadata.annotations)
        is_used = is_volume_in_use(self._caches, storage)
        is_protected = MOUNT_FINALIZER in meta.finalizers
        if lock is not None:
            lock = self._with_unit_uid(lock)
        if lock is not None and not is_used and await self._is_orphaned(storage, lock):
            await require_unused_volume(self._reader, storage, lock)
            await self._patch(storage, unlock_patch(meta))
            regarding = object_reference(GPU_STORAGES, storage)
            self._recorder.normal(
                regarding, EventReason.RELEASED, f"no longer held by {lock.holder_text}"
            )
        elif lock is None and is_protected and not is_used:
            await require_unused_volume(self._reader, storage, None)
            await self._patch(storage, unlock_patch(meta))
        elif (lock is not None or is_used) and not is_protected and meta.deletion_timestamp is None:
            await self._patch(storage, protect_patch(meta))

    def _with_unit_uid(self, lock: StorageLock) -> StorageLock:
        """Return the lock with the uid of its operation's unit, even if the unit is gone."""
        if lock.uid or lock.prepare:
            return lock
        return msgspec.structs.replace(
            lock, uid=created_unit_uid(self._reader.cached_operation(lock.operation))
        )

    async def _is_orphaned(self, storage: GPUStorage, lock: StorageLock) -> bool:
        if lock.prepare:
            return await self._is_prepare_lock_orphaned(storage, lock)
        if lock.uid:
            return await self._is_unit_lock_orphaned(storage, lock)
        if not is_operation_lock_orphaned(self._reader.cached_operation(lock.operation)):
            return False
        return is_operation_lock_orphaned(await self._reader.live_operation(lock.operation))

    async def _is_unit_lock_orphaned(self, storage: GPUStorage, lock: StorageLock) -> bool:
        name, key = storage.metadata.name, ObjectKey(storage.metadata.namespace, lock.unit)
        if not is_unit_lock_orphaned(lock, name, self._caches.units.get(key)):
            return False
        return is_unit_lock_orphaned(lock, name, await self._reader.live_unit(lock.unit))

    async def _is_prepare_lock_orphaned(self, storage: GPUStorage, lock: StorageLock) -> bool:
        namespace = storage.metadata.namespace
        job = self._caches.jobs.get(ObjectKey(namespace, names.prepare_job_name(lock.prepare)))
        target = self._caches.storages.get(ObjectKey(namespace, lock.prepare))
        if not is_prepare_lock_orphaned(lock, target, has_job=job is not None):
            return False
        target = await self._reader.live_storage(lock.prepare)
        return is_prepare_lock_orphaned(lock, target, has_job=job is not None)

    async def _patch(self, storage: GPUStorage, body: dict[str, Any]) -> None:
        await self._writer.patch(GPU_STORAGES, key_of(storage), body)
