"""The PersistentVolumeClaim of a storage."""

from typing import Any

from controller.apply.child import Child, with_applied_hash
from controller.apply.drop_empty import drop_empty
from controller.gpustorage.labels import StorageComponent, child_metadata
from controller.gpustorage.resources.size import desired_pvc_size
from controller.gpustorage.settings import StorageSettings
from controller.kinds import PERSISTENT_VOLUME_CLAIMS
from controller.runtime.digest import json_digest
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason


def pvc_child(
    storage: GPUStorage,
    pvc: PersistentVolumeClaim | None,
    storage_class: StorageClass | None,
    settings: StorageSettings,
) -> Child:
    """Of a claim that is there only the size may change; its class stays what it is."""
    class_name = (
        desired_storage_class_name(storage, settings) if pvc is None else pvc.storage_class_name
    )
    body = pvc_manifest(storage, desired_pvc_size(storage, pvc, storage_class), class_name)
    fingerprint = json_digest(body["spec"]["resources"])
    failure = StorageReason.PVC_SYNC_FAILED
    return Child(PERSISTENT_VOLUME_CLAIMS, with_applied_hash(body, fingerprint), pvc, failure)


def pvc_manifest(storage: GPUStorage, size: str, storage_class_name: str) -> dict[str, Any]:
    """A volume for one node at a time; without a class the cluster's default is taken."""
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
    """Empty for the cluster's default."""
    given = storage.spec.storage_class_name
    return settings.default_storage_class_name if given is None else given
