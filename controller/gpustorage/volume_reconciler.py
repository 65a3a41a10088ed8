"""Keeping the volume of a storage: asked for once, grown where it can be, never made anew."""

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
    """The claims of storages; deleting them is left to the garbage collector."""

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
        """The storage's own claim and its class, as far as they are there."""
        claim = self._caches.pvcs.get(key_of(storage))
        if claim is None or not is_own_pvc(storage, claim):
            return None, None
        return claim, self._caches.storage_classes.get(ObjectKey("", claim.storage_class_name))

    async def reconcile_volume(
        self, storage: GPUStorage
    ) -> tuple[StorageReadiness, StorageBlocker | None]:
        """Ask for the volume as the spec has it; one that was there and is gone stays gone."""
        claim, kind = self.own_pvc_and_class(storage)
        if claim is None and had_pvc(storage):
            return await self._confirm_pvc_deleted(storage), None
        problems = storage_problems(storage.spec)
        if problems:
            said = "; ".join(problem.text for problem in problems)
            return StorageReadiness.failed(StorageReason.INVALID_SPEC, said), None
        there = self._caches.pvcs.get(key_of(storage))
        if there is None:
            await self._require_no_live_pvc(storage)
        asked_for = pvc_child(storage, there, kind, self._settings)
        failed = await self._applier.apply(storage, [asked_for])
        claim, kind = self.own_pvc_and_class(storage)
        verdict = volume_readiness(storage, claim, kind)
        if failed is None or (claim is not None and claim.metadata.deletion_timestamp is not None):
            return verdict, None
        return rejected_change(verdict, blocker_of_failure(failed))

    async def _require_no_live_pvc(self, storage: GPUStorage) -> None:
        """A claim that we have not heard of may be somebody else's: it would become ours."""
        name = storage.metadata.name
        if await self._reader.live_pvc(name) is not None:
            raise StaleCacheError(name)

    async def _confirm_pvc_deleted(self, storage: GPUStorage) -> StorageReadiness:
        """That data is lost is believed only of the server."""
        name = storage.metadata.name
        claim = await self._reader.live_pvc(name)
        if claim is not None and is_own_pvc(storage, claim):
            raise StaleCacheError(name)
        return pvc_deleted_readiness(storage)


def is_own_pvc(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    return is_controlled_by(pvc.metadata, [storage.metadata.uid])


def rejected_change(
    readiness: StorageReadiness, blocker: StorageBlocker
) -> tuple[StorageReadiness, StorageBlocker]:
    """A change that the server does not take leaves a volume as good as it was."""
    if readiness.is_ready and blocker.retry_error is not None:
        return readiness.with_reason(blocker.readiness.reason, blocker.readiness.message), blocker
    return blocker.readiness, blocker
