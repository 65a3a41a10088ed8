"""Keeping the locks of storages: given back when nobody stands behind them any more."""

from typing import Any

import msgspec

from controller.caches import Caches
from controller.gpustorage.locks.users import is_in_use, require_unused
from controller.gpustorage.locks.validity import (
    is_void_for_filling,
    is_void_for_operation,
    is_void_for_unit,
    made_unit,
)
from controller.kinds import GPU_STORAGES
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.storage_lock import StorageLock, freeing, guarding, lock_of
from shared.v1alpha1.wellknown import MOUNT_FINALIZER


class Mounts:
    """Suspects by the cache, asks the server, and writes only to the storage that it has read."""

    def __init__(
        self, caches: Caches, lookup: Lookup, writer: Writer, recorder: EventRecorder
    ) -> None:
        self._caches = caches
        self._lookup = lookup
        self._writer = writer
        self._recorder = recorder

    async def settle(self, storage: GPUStorage) -> None:
        """Give back a lock that is void; a storage in use is kept from going, a free one is not."""
        meta, lock = storage.metadata, lock_of(storage.metadata.annotations)
        is_used = is_in_use(self._caches, storage)
        is_guarded = MOUNT_FINALIZER in meta.finalizers
        if lock is not None:
            lock = self._named(lock)
        if lock is not None and not is_used and await self._is_void(storage, lock):
            await require_unused(self._lookup, storage, lock)
            await self._patch(storage, freeing(meta))
            about = reference(GPU_STORAGES, storage)
            self._recorder.normal(about, EventReason.RELEASED, f"no longer held by {lock.holder}")
        elif lock is None and is_guarded and not is_used:
            await require_unused(self._lookup, storage, None)
            await self._patch(storage, freeing(meta))
        elif (lock is not None or is_used) and not is_guarded and meta.deletion_timestamp is None:
            await self._patch(storage, guarding(meta))

    def _named(self, lock: StorageLock) -> StorageLock:
        """A lock of an operation that has made its unit is the unit's, also if that is gone."""
        if lock.uid or lock.prepare:
            return lock
        return msgspec.structs.replace(lock, uid=made_unit(self._lookup.record(lock.operation)))

    async def _is_void(self, storage: GPUStorage, lock: StorageLock) -> bool:
        if lock.prepare:
            return await self._is_void_filling(storage, lock)
        if lock.uid:
            return await self._is_void_unit(storage, lock)
        if not is_void_for_operation(self._lookup.record(lock.operation)):
            return False
        return is_void_for_operation(await self._lookup.live_record(lock.operation))

    async def _is_void_unit(self, storage: GPUStorage, lock: StorageLock) -> bool:
        name, key = storage.metadata.name, ObjectKey(storage.metadata.namespace, lock.unit)
        if not is_void_for_unit(lock, name, self._caches.units.get(key)):
            return False
        return is_void_for_unit(lock, name, await self._lookup.live_unit(lock.unit))

    async def _is_void_filling(self, storage: GPUStorage, lock: StorageLock) -> bool:
        namespace = storage.metadata.namespace
        job = self._caches.jobs.get(ObjectKey(namespace, names.prepare_job(lock.prepare)))
        target = self._caches.storages.get(ObjectKey(namespace, lock.prepare))
        if not is_void_for_filling(lock, target, has_job=job is not None):
            return False
        target = await self._lookup.live_storage(lock.prepare)
        return is_void_for_filling(lock, target, has_job=job is not None)

    async def _patch(self, storage: GPUStorage, body: dict[str, Any]) -> None:
        await self._writer.patch(GPU_STORAGES, key_of(storage), body)
