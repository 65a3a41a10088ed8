"""The folder outside the checkout that holds built programs, shared by all checkouts."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.binaries.catalogue import Program
from hack.cluster.errors import ClusterError


def cache_root() -> Path:
    """Return GPU_RUNTIME_CACHE, or gpu-runtime in the user's cache folder."""
    if named := os.environ.get("GPU_RUNTIME_CACHE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "gpu-runtime"


def cached_path(program: Program) -> Path:
    """Return the path of a built program: a folder for each product, version and machine type."""
    machine = f"{platform.system()}-{platform.machine()}".lower()
    return cache_root() / f"{program.product}-{program.version}-{machine}" / program.name


@contextmanager
def cache_lock() -> Iterator[None]:
    """Lock the cache for the length of the block; print a line while waiting."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / "lock").open("w")
    except OSError as error:
        raise ClusterError(
            f"the cache folder {root} cannot be written ({error.strerror}); "
            "choose another one: GPU_RUNTIME_CACHE=/some/folder make up"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another build that uses {root}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
