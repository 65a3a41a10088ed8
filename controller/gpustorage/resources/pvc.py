"""PersistentVolumeClaim of a storage: it grows if its class allows that and never shrinks."""

from typing import Any

from controller.apply.child import Child, with_applied_hash
from controller.apply.drop_empty import drop_empty
from controller.gpustorage.labels import StorageComponent, child_metadata
from controller.gpustorage.settings import StorageSettings
from controller.kinds import PERSISTENT_VOLUME_CLAIMS
from controller.runtime import json_digest
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason


def pvc_child(
    storage: GPUStorage,
    pvc: PersistentVolumeClaim | None,
    storage_class: StorageClass | None,
    settings: StorageSettings,
) -> Child:
    """Build the PVC; of an existing PVC only the size changes, its class stays."""
    class_name = (
        desired_storage_class_name(storage, settings) if pvc is None else pvc.storage_class_name
    )
    body = pvc_manifest(storage, desired_pvc_size(storage, pvc, storage_class), class_name)
    desired_hash = json_digest(body["spec"]["resources"])
    failure = StorageReason.PVC_SYNC_FAILED
    return Child(PERSISTENT_VOLUME_CLAIMS, with_applied_hash(body, desired_hash), pvc, failure)


def pvc_manifest(storage: GPUStorage, size: str, storage_class_name: str) -> dict[str, Any]:
    """Build the manifest of a ReadWriteOnce volume; no class means the cluster's default."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class_name,
    }
    return {
        "metadata": child_metadata(storage, storage.metadata.name, StorageComponent.VOLUME),
        "spec": drop_empty(spec),
    }


def desired_storage_class_name(storage: GPUStorage, settings: StorageSettings) -> str:
    """Return the class of a new PVC; empty for the default of the cluster."""
    class_name = storage.spec.storage_class_name
    return settings.default_storage_class_name if class_name is None else class_name


def requested_size(storage: GPUStorage) -> Quantity:
    """Return the size of the spec in whole bytes."""
    return Quantity(Quantity.parse(storage.spec.size).whole_units * NANOS_PER_UNIT)


def desired_pvc_size(
    storage: GPUStorage, pvc: PersistentVolumeClaim | None, storage_class: StorageClass | None
) -> str:
    """Return the size to request, in the notation of the API server."""
    if pvc is None or (is_expansion_requested(storage, pvc) and is_expandable(pvc, storage_class)):
        return str(requested_size(storage))
    return pvc.requested_storage


def is_expansion_requested(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    """Return whether the spec requests more than the PVC."""
    return requested_size(storage) > Quantity.parse(pvc.requested_storage)


def is_shrink_requested(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    """Return whether the spec requests less than the volume has."""
    return requested_size(storage) < Quantity.parse(pvc.capacity or pvc.requested_storage)


def is_expandable(pvc: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
    """Return whether the volume exists and its class allows expansion."""
    return pvc.is_bound and storage_class is not None and storage_class.allow_volume_expansion


def is_expanding(pvc: PersistentVolumeClaim) -> bool:
    """Return whether the volume is still smaller than its PVC requests."""
    return pvc.is_bound and Quantity.parse(pvc.requested_storage) > Quantity.parse(
        pvc.capacity or "0"
    )
