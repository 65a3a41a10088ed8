"""How the children of a storage are marked as its own."""

from enum import StrEnum
from typing import Any

from controller.kinds import GPU_STORAGES
from controller.runtime import controller_reference
from controller.volume_users import ACCESSOR_APP_NAME
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reserved_labels import user_labels


class StorageComponent(StrEnum):
    """What a child is for; the value is its name as an application."""

    VOLUME = "gpu-storage"
    PREPARE = "gpu-storage-prepare"
    ACCESSOR = ACCESSOR_APP_NAME


def pod_selector(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """What selects the pods of one part."""
    return {
        wellknown.STORAGE_LABEL: storage.metadata.name,
        wellknown.APP_NAME_LABEL: component.value,
    }


def child_labels(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """What every child of that part has."""
    return {
        **pod_selector(storage, component),
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
    }


def pod_labels(storage: GPUStorage, component: StorageComponent) -> dict[str, str]:
    """The caller's labels go to the pods; of two equal ones ours wins."""
    return {**user_labels(storage.metadata.labels), **child_labels(storage, component)}


def child_metadata(storage: GPUStorage, name: str, component: StorageComponent) -> dict[str, Any]:
    """The metadata of a child that goes when `storage` goes."""
    return {
        "namespace": storage.metadata.namespace,
        "name": name,
        "labels": child_labels(storage, component),
        "ownerReferences": [controller_reference(GPU_STORAGES, storage)],
    }
