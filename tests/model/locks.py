"""The controller's part of the locks of storages, on the model: those that nobody needs go."""

from apiserver.gateway import AbsentError, ClusterError, Objects, Selection
from apiserver.resources import GPU_STORAGES, GPU_UNITS, OPERATIONS
from shared import names
from shared.phases import OperationPhase
from shared.storage_lock import StorageLock, freeing, lock_of
from shared.v1alpha1.gpustorage import GPUStorage
from tests.model.places import INSTANCE, SYSTEM


class ModelLocks:
    """Frees what no operation is about to use and no unit uses."""

    def __init__(self, client: Objects) -> None:
        self._client = client

    async def look_at_all(self) -> None:
        """Once; whatever fails is looked at again."""
        try:
            page = await self._client.list(GPU_STORAGES, INSTANCE, Selection())
        except ClusterError:
            return
        for storage in page.items:
            try:
                await self._look(storage)
            except ClusterError:
                continue

    async def _look(self, storage: GPUStorage) -> None:
        meta, lock = storage.metadata, lock_of(storage.metadata.annotations)
        if lock is not None and await self._is_void(lock):
            await self._client.patch(GPU_STORAGES, INSTANCE, meta.name, freeing(meta))

    async def _is_void(self, lock: StorageLock) -> bool:
        """Its record is absent or failed, or the unit that it has made is gone."""
        name = names.operation(lock.operation)
        try:
            record = await self._client.get(OPERATIONS, SYSTEM, name)
        except AbsentError:
            return True
        if record.status.phase != OperationPhase.SUCCEEDED:
            return record.status.phase == OperationPhase.FAILED
        try:
            unit = await self._client.get(GPU_UNITS, INSTANCE, lock.unit)
        except AbsentError:
            return True
        return unit.metadata.uid != record.status.objects[0].uid
