"""Validation of the mounts of a unit."""

import posixpath
from collections.abc import Iterator
from typing import Final

from shared.k8s import name_syntax
from shared.k8s.name_syntax import is_dns_label
from shared.v1alpha1.framework_endpoint import DEFAULT_SOCKET_FOLDER
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.validation.problem import Problem, repeated_positions


def mount_problems(spec: GPUUnitSpec) -> list[Problem]:
    """Return all problems with the mounts of a unit."""
    mounts = spec.storage_mounts
    single_mount = [
        problem
        for position, mount in enumerate(mounts)
        for problem in _single_mount_problems(f"spec.storageMounts[{position}]", mount)
    ]
    storages = repeated_positions(mount.name for mount in mounts)
    paths = repeated_positions(normalise_path(mount.mount_path) for mount in mounts)
    return [
        *single_mount,
        *(
            Problem(
                f"spec.storageMounts[{position}].name", mounts[position].name, "is mounted twice"
            )
            for position in storages
        ),
        *(
            Problem(
                f"spec.storageMounts[{position}].mountPath",
                mounts[position].mount_path,
                "is the path of another mount",
            )
            for position in paths
        ),
    ]


def _single_mount_problems(path: str, mount: StorageMount) -> Iterator[Problem]:
    if not is_dns_label(mount.name):
        message = f"is not the name of a storage: {name_syntax.DNS_LABEL_SYNTAX}"
        yield Problem(f"{path}.name", mount.name, message)
    mount_path = mount.mount_path
    if not mount_path.startswith("/"):
        yield Problem(f"{path}.mountPath", mount_path, "is not an absolute path")
    elif is_reserved_path(normalise_path(mount_path)):
        yield Problem(f"{path}.mountPath", mount_path, "is a reserved path of the system")
    if ":" in mount_path:
        yield Problem(f"{path}.mountPath", mount_path, "must not contain a colon")


SHARED_MEMORY_PATH: Final = "/dev/shm"  # noqa: S108 - a mount point, not a temporary file

_RESERVED_FOLDERS: Final = ("/proc", "/sys", "/dev", DEFAULT_SOCKET_FOLDER)


def normalise_path(path: str) -> str:
    """Return the shortest form of an absolute path; equal forms mean the same folder."""
    return posixpath.normpath(f"/{path.lstrip('/')}")


def is_reserved_path(path: str) -> bool:
    """Return whether a normalised path belongs to the system. Its shared memory may be replaced."""
    if is_path_within(path, SHARED_MEMORY_PATH):
        return False
    return path == "/" or any(is_path_within(path, folder) for folder in _RESERVED_FOLDERS)


def is_path_within(path: str, folder: str) -> bool:
    """Return whether a normalised path is the folder or is below it."""
    return path == folder or path.startswith(f"{folder}/")
