"""The locks of a filling: of the storage that is filled, and of the one that it copies."""

from controller.caches import Caches
from controller.gpustorage.errors import OvertakenError
from controller.gpustorage.locks.users import require_unused
from controller.gpustorage.prepare.copy_source import is_filling_of, lock_for_filling
from controller.kinds import GPU_STORAGES
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.key import ObjectKey
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.storage_lock import freeing, lock_of, taking


class FillingLocks:
    """Taken before there is a Job; given back with its end, or here if there will be none."""

    def __init__(self, caches: Caches, lookup: Lookup, writer: Writer) -> None:
        self._caches = caches
        self._lookup = lookup
        self._writer = writer

    async def take(self, storage: GPUStorage, origin: str | None) -> None:
        """In the order of their names: nobody waits in a ring."""
        for name in sorted({storage.metadata.name, *filter(None, [origin])}):
            await self._take(storage, name)

    async def give_back(self, storage: GPUStorage, origin: str | None) -> None:
        """Let others have the source of a copy that cannot begin."""
        name, namespace = storage.metadata.name, storage.metadata.namespace
        source = self._caches.storages.get(ObjectKey(namespace, origin or ""))
        lock = None if source is None else lock_of(source.metadata.annotations)
        if source is None or lock is None or not is_filling_of(storage, lock):
            return
        if await self._lookup.live_prepare_job(name) is not None:
            raise OvertakenError(name)
        await require_unused(self._lookup, source, lock)
        await self._writer.patch(GPU_STORAGES, key_of(source), freeing(source.metadata))

    async def _take(self, storage: GPUStorage, name: str) -> None:
        """Take a lock, or make sure at the server that it is held for this very attempt."""
        found = await self._lookup.live_storage(name)
        if found is None or found.metadata.deletion_timestamp is not None:
            raise OvertakenError(name)
        is_target = name == storage.metadata.name
        if is_target and found.status.prepare != storage.status.prepare:
            raise OvertakenError(name)
        lock, wanted = lock_of(found.metadata.annotations), lock_for_filling(storage)
        if lock == wanted:
            return
        if lock is not None and not is_filling_of(storage, lock):
            raise OvertakenError(name)
        await self._writer.patch(GPU_STORAGES, key_of(found), taking(found.metadata, wanted))
