"""Labels and owner references of the children of a storage."""

from enum import StrEnum
from typing import Any

from controller.kinds import GPU_STORAGES
from controller.runtime import controller_reference
from controller.volume_users import ACCESSOR_APP_NAME
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reserved_labels import user_labels


class StorageComponent(StrEnum):
    """Purpose of a child; the value is its application name."""

    VOLUME = "gpu-storage"
    PREPARE = "gpu-storage-prepare"
    ACCESSOR = ACCESSOR_APP_NAME


def pod_selector(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """Return the selector of the pods of one component."""
    return {
        wellknown.STORAGE_LABEL: storage.metadata.name,
        wellknown.APP_NAME_LABEL: component.value,
    }


def child_labels(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """Return the labels of every child of the component."""
    return {
        **pod_selector(storage, component),
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
    }


def pod_labels(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """Return the labels of the pods: the caller's labels and ours; of two equal keys ours wins."""
    return {**user_labels(storage.metadata.labels), **child_labels(storage, component)}


def child_metadata(storage: GPUStorage, name: str, component: StorageComponent) -> dict[str, Any]:
    """Build the metadata of a child that is deleted together with `storage`."""
    return {
        "namespace": storage.metadata.namespace,
        "name": name,
        "labels": child_labels(storage, component),
        "ownerReferences": [controller_reference(GPU_STORAGES, storage)],
    }
