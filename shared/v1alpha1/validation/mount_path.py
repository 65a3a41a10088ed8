"""The paths in a unit at which a storage may be mounted."""

import posixpath
from typing import Final

from shared.v1alpha1.framework_endpoint import DEFAULT_SOCKET_FOLDER

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
