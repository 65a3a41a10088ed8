"""Locks of a prepare: on its storage and on its copy source."""

from controller.caches import Caches
from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.locks.users import require_unused_volume
from controller.gpustorage.prepare.copy_source import is_prepare_lock_of, prepare_lock
from controller.kinds import GPU_STORAGES
from controller.object_reader import ObjectReader
from controller.runtime import ObjectKey, Writer, key_of
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.storage_lock import lock_patch, parse_storage_lock, unlock_patch


class PrepareLocks:
    """Locks that are acquired before the Job is created.

    They are released when the Job ends, or here if no Job will be created.
    """

    def __init__(self, caches: Caches, reader: ObjectReader, writer: Writer) -> None:
        self._caches = caches
        self._reader = reader
        self._writer = writer

    async def acquire(self, storage: GPUStorage, source_name: str | None) -> None:
        """Acquire the locks in name order, to avoid deadlock."""
        for name in sorted({storage.metadata.name, *filter(None, [source_name])}):
            await self._acquire_one(storage, name)

    async def release_source(self, storage: GPUStorage, source_name: str | None) -> None:
        """Release the source of a copy that cannot start."""
        name, namespace = storage.metadata.name, storage.metadata.namespace
        source = self._caches.storages.get(ObjectKey(namespace, source_name or ""))
        lock = None if source is None else parse_storage_lock(source.metadata.annotations)
        if source is None or lock is None or not is_prepare_lock_of(storage, lock):
            return
        if await self._reader.live_prepare_job(name) is not None:
            raise StaleCacheError(name)
        await require_unused_volume(self._reader, source, lock)
        await self._writer.patch(GPU_STORAGES, key_of(source), unlock_patch(source.metadata))

    async def _acquire_one(self, storage: GPUStorage, name: str) -> None:
        """Acquire a lock, or confirm at the server that this attempt holds it."""
        target = await self._reader.live_storage(name)
        if target is None or target.metadata.deletion_timestamp is not None:
            raise StaleCacheError(name)
        is_target = name == storage.metadata.name
        if is_target and target.status.prepare != storage.status.prepare:
            raise StaleCacheError(name)
        lock, desired = parse_storage_lock(target.metadata.annotations), prepare_lock(storage)
        if lock == desired:
            return
        if lock is not None and not is_prepare_lock_of(storage, lock):
            raise StaleCacheError(name)
        await self._writer.patch(GPU_STORAGES, key_of(target), lock_patch(target.metadata, desired))
