"""How the children of a storage are marked as its own."""

from enum import StrEnum
from typing import Any

from controller.kinds import GPU_STORAGES
from controller.runtime.client.ownership import controlled_by
from controller.volume_users import BROWSER
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reserved_labels import callers


class Part(StrEnum):
    """What a child is for; the value is its name as an application."""

    VOLUME = "gpu-storage"
    PREPARE = "gpu-storage-prepare"
    ACCESSOR = BROWSER


def selector(storage: GPUStorage, part: Part) -> dict[str, str]:
    """What selects the pods of one part."""
    return {
        wellknown.STORAGE_LABEL: storage.metadata.name,
        wellknown.APP_NAME_LABEL: part.value,
    }


def own_labels(storage: GPUStorage, part: Part) -> dict[str, str]:
    """What every child of that part has."""
    return {**selector(storage, part), wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY}


def pod_labels(storage: GPUStorage, part: Part) -> dict[str, str]:
    """The caller's labels go to the pods; of two equal ones ours wins."""
    return {**callers(storage.metadata.labels), **own_labels(storage, part)}


def child_metadata(storage: GPUStorage, name: str, part: Part) -> dict[str, Any]:
    """The metadata of a child that goes when `storage` goes."""
    return {
        "namespace": storage.metadata.namespace,
        "name": name,
        "labels": own_labels(storage, part),
        "ownerReferences": [controlled_by(GPU_STORAGES, storage)],
    }
