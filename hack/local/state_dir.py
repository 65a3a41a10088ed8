"""The folder of one local system and the lock that lets one command at a time change it."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.local.settings import FILE

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = "lock"


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold `home` against other commands; waits, and says for whom, while one is at work."""
    while True:
        home.mkdir(parents=True, exist_ok=True)
        with (home / LOCK).open("a+") as lock:
            wait_for(lock.fileno(), home / LOCK)
            if not is_same_file(lock.fileno(), home / LOCK):
                continue  # `make down` removed it while we waited
            (home / LOCK).write_text(f"{os.getpid()}\n")
            yield
            return


def wait_for(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another command of this checkout, pid {path.read_text().strip()}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_same_file(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def remove(home: Path) -> None:
    """Delete the folder; refuses one that holds something else than a local system."""
    strangers = {path.name for path in home.iterdir()} - {LOCK}
    if strangers and not (home / FILE).exists():
        raise ClusterError(f"{home} is not the folder of a local system: not removed")
    shutil.rmtree(home)
