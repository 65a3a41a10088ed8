"""The PersistentVolumeClaim of a storage."""

from typing import Any

from controller.apply.child import Child, stamped
from controller.apply.drop_empty import non_empty
from controller.gpustorage.labels import Part, child_metadata
from controller.gpustorage.resources.size import request
from controller.gpustorage.settings import StorageSettings
from controller.kinds import VOLUME_CLAIMS
from controller.runtime.digest import digest
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason


def claim_child(
    storage: GPUStorage,
    live: VolumeClaim | None,
    kind: StorageClass | None,
    settings: StorageSettings,
) -> Child:
    """Of a claim that is there only the size may change; its class stays what it is."""
    class_name = wanted_class(storage, settings) if live is None else live.class_name
    body = volume_claim(storage, request(storage, live, kind), class_name)
    fingerprint = digest(body["spec"]["resources"])
    failure = StorageReason.CLAIM_SYNC_FAILED
    return Child(VOLUME_CLAIMS, stamped(body, fingerprint), live, failure)


def volume_claim(storage: GPUStorage, size: str, class_name: str) -> dict[str, Any]:
    """A volume for one node at a time; without a class the cluster's default is taken."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": class_name,
    }
    return {
        "metadata": child_metadata(storage, storage.metadata.name, Part.VOLUME),
        "spec": non_empty(spec),
    }


def wanted_class(storage: GPUStorage, settings: StorageSettings) -> str:
    """Empty for the cluster's default."""
    given = storage.spec.storage_class_name
    return settings.default_class if given is None else given
