"""Readiness of a storage's volume, without its contents."""

from controller.gpustorage.resources.pvc import (
    is_expandable,
    is_expanding,
    is_expansion_requested,
    is_shrink_requested,
)
from controller.gpustorage.status.readiness import StorageReadiness
from shared.k8s.pvc import PHASE_LOST, PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason
from shared.v1alpha1.storage_lock import parse_storage_lock


def volume_readiness(
    storage: GPUStorage, pvc: PersistentVolumeClaim | None, storage_class: StorageClass | None
) -> StorageReadiness:
    """Decide the readiness; ready if a volume exists or will exist at the first mount."""
    if pvc is None:
        return StorageReadiness.pending(StorageReason.VOLUME_PENDING, "the PVC is being created")
    if pvc.metadata.deletion_timestamp is not None:
        message = f"PersistentVolumeClaim {pvc.metadata.name} and its data are being deleted"
        return StorageReadiness.failed(StorageReason.VOLUME_LOST, message)
    if pvc.status.phase == PHASE_LOST:
        message = f"the volume of PersistentVolumeClaim {pvc.metadata.name} no longer exists"
        return StorageReadiness.failed(StorageReason.VOLUME_LOST, message)
    if not is_volume_mountable(pvc, storage_class):
        return StorageReadiness.pending(
            StorageReason.VOLUME_PENDING, pending_message(pvc, storage_class)
        )
    return mountable_volume_readiness(storage, pvc, storage_class)


def is_volume_mountable(pvc: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
    """Return whether a pod that mounts the PVC will get its volume."""
    return pvc.is_bound or (storage_class is not None and storage_class.waits_for_first_consumer)


def pending_message(pvc: PersistentVolumeClaim, storage_class: StorageClass | None) -> str:
    if not pvc.storage_class_name:
        return "no StorageClass is set, and the cluster has no default StorageClass"
    if storage_class is None:
        return f"StorageClass {pvc.storage_class_name} does not exist yet"
    return f"a volume of StorageClass {pvc.storage_class_name} is being created"


def mountable_volume_readiness(
    storage: GPUStorage, pvc: PersistentVolumeClaim, storage_class: StorageClass | None
) -> StorageReadiness:
    """Report a usable volume, and the result of a change of its size."""
    capacity = "the volume will be created when it is first mounted"
    if pvc.is_bound:
        capacity = f"the volume holds {pvc.capacity}"
    ready = StorageReadiness.ready(StorageReason.READY, capacity)
    if (
        is_expansion_requested(storage, pvc)
        and pvc.is_bound
        and not is_expandable(pvc, storage_class)
    ):
        message = (
            f"StorageClass {pvc.storage_class_name} does not support expansion: {capacity}, not "
            f"{storage.spec.size}; set size back to {pvc.requested_storage}"
        )
        return ready.with_reason(StorageReason.EXPANSION_NOT_SUPPORTED, message)
    if is_expanding(pvc):
        return ready.with_reason(
            StorageReason.READY, f"{capacity} and grows to {pvc.requested_storage}"
        )
    if is_shrink_requested(storage, pvc):
        message = f"{capacity}; it cannot shrink to {storage.spec.size}"
        return ready.with_reason(StorageReason.READY, message)
    return ready


def had_pvc(storage: GPUStorage) -> bool:
    """Return whether the storage had a PVC before. A new PVC would be empty and hide the loss.

    Other locks prove nothing, because they may be older than the PVC. The lock of a prepare proves
    it: the prepare can begin before the PVC is recorded.
    """
    lock = parse_storage_lock(storage.metadata.annotations)
    is_being_prepared = lock is not None and lock.prepare == storage.metadata.name
    return bool(storage.status.claim_name) or is_being_prepared


def pvc_deleted_readiness(storage: GPUStorage) -> StorageReadiness:
    """Report that the PVC of the storage was deleted."""
    message = (
        f"PersistentVolumeClaim {storage.metadata.name} and its data were deleted; "
        "delete the storage and create another"
    )
    return StorageReadiness.failed(StorageReason.VOLUME_LOST, message)
