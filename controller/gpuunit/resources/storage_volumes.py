"""The storages of a unit as volumes of its pod."""

from collections.abc import Sequence
from typing import Any

from shared.v1alpha1 import names
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.validation.mount_path import normalise_path


def storage_volumes(mounts: Sequence[StorageMount]) -> list[dict[str, Any]]:
    """One volume a storage; its claim has the storage's name."""
    return [
        {
            "name": names.storage_volume_name(storage),
            "persistentVolumeClaim": {"claimName": storage},
        }
        for storage in dict.fromkeys(mount.name for mount in mounts)
    ]


def storage_volume_mounts(mounts: Sequence[StorageMount]) -> list[dict[str, Any]]:
    """Where the files of the storages are seen."""
    return [_volume_mount(mount) for mount in mounts]


def _volume_mount(mount: StorageMount) -> dict[str, Any]:
    place = {
        "name": names.storage_volume_name(mount.name),
        "mountPath": normalise_path(mount.mount_path),
    }
    return {**place, "readOnly": True} if mount.read_only else place
