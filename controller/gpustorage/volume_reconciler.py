"""Reconciler of a storage's volume: created once, expanded if possible, never replaced."""

from controller.apply.applier import ChildApplier
from controller.caches import Caches
from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.resources.pvc import pvc_child
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.outcome import StorageBlocker, blocker_of_failure
from controller.gpustorage.status.readiness import StorageReadiness
from controller.gpustorage.volume_readiness import had_pvc, pvc_deleted_readiness, volume_readiness
from controller.object_reader import ObjectReader
from controller.runtime import ObjectKey, is_controlled_by, key_of
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason
from shared.v1alpha1.validation.storage import storage_problems


class VolumeReconciler:
    """Reconciler of the PVCs of storages; the garbage collector deletes them."""

    def __init__(
        self,
        caches: Caches,
        reader: ObjectReader,
        settings: StorageSettings,
        applier: ChildApplier[GPUStorage],
    ) -> None:
        self._caches = caches
        self._reader = reader
        self._settings = settings
        self._applier = applier

    def own_pvc_and_class(
        self, storage: GPUStorage
    ) -> tuple[PersistentVolumeClaim | None, StorageClass | None]:
        """Return the storage's own PVC and its class; None for what does not exist."""
        pvc = self._caches.pvcs.get(key_of(storage))
        if pvc is None or not is_own_pvc(storage, pvc):
            return None, None
        return pvc, self._caches.storage_classes.get(ObjectKey("", pvc.storage_class_name))

    async def reconcile_volume(
        self, storage: GPUStorage
    ) -> tuple[StorageReadiness, StorageBlocker | None]:
        """Apply the PVC of the spec; do not replace a PVC that was deleted."""
        pvc, storage_class = self.own_pvc_and_class(storage)
        if pvc is None and had_pvc(storage):
            return await self._confirm_pvc_deleted(storage), None
        problems = storage_problems(storage.spec)
        if problems:
            message = "; ".join(problem.text for problem in problems)
            return StorageReadiness.failed(StorageReason.INVALID_SPEC, message), None
        cached = self._caches.pvcs.get(key_of(storage))
        if cached is None:
            await self._require_no_live_pvc(storage)
        child = pvc_child(storage, cached, storage_class, self._settings)
        failed = await self._applier.apply(storage, [child])
        pvc, storage_class = self.own_pvc_and_class(storage)
        readiness = volume_readiness(storage, pvc, storage_class)
        if failed is None or (pvc is not None and pvc.metadata.deletion_timestamp is not None):
            return readiness, None
        return rejected_change(readiness, blocker_of_failure(failed))

    async def _require_no_live_pvc(self, storage: GPUStorage) -> None:
        """Raise StaleCacheError if the server has a PVC that the cache lacks.

        It may belong to another owner, and applying ours would take it over.
        """
        name = storage.metadata.name
        if await self._reader.live_pvc(name) is not None:
            raise StaleCacheError(name)

    async def _confirm_pvc_deleted(self, storage: GPUStorage) -> StorageReadiness:
        """Ask the server, not the cache, whether the data is lost; raise StaleCacheError if not."""
        name = storage.metadata.name
        pvc = await self._reader.live_pvc(name)
        if pvc is not None and is_own_pvc(storage, pvc):
            raise StaleCacheError(name)
        return pvc_deleted_readiness(storage)


def is_own_pvc(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    return is_controlled_by(pvc.metadata, [storage.metadata.uid])


def rejected_change(
    readiness: StorageReadiness, blocker: StorageBlocker
) -> tuple[StorageReadiness, StorageBlocker]:
    """Return the readiness after a rejected change: a usable volume stays ready."""
    if readiness.is_ready and blocker.retry_error is not None:
        return readiness.with_reason(blocker.readiness.reason, blocker.readiness.message), blocker
    return blocker.readiness, blocker
