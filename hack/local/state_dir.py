"""The folder of one local system, and the lock that only one command at a time can hold."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.local.settings import SETTINGS_FILE

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK_FILE = "lock"


@contextmanager
def lock_state_dir(state_dir: Path) -> Iterator[None]:
    """Lock the folder for the length of the block; print the holder's pid while waiting."""
    while True:
        state_dir.mkdir(parents=True, exist_ok=True)
        with (state_dir / LOCK_FILE).open("a+") as lock:
            acquire_lock(lock.fileno(), state_dir / LOCK_FILE)
            if not is_same_file(lock.fileno(), state_dir / LOCK_FILE):
                continue  # `make down` has removed the folder meanwhile
            (state_dir / LOCK_FILE).write_text(f"{os.getpid()}\n")
            yield
            return


def acquire_lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another command of this checkout, pid {path.read_text().strip()}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_same_file(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def remove_state_dir(state_dir: Path) -> None:
    """Delete the folder; raises ClusterError if it is not the folder of a local system."""
    others = {path.name for path in state_dir.iterdir()} - {LOCK_FILE}
    if others and not (state_dir / SETTINGS_FILE).exists():
        raise ClusterError(f"{state_dir} is not the folder of a local system: not removed")
    shutil.rmtree(state_dir)
