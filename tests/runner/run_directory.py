"""The folder of one test run: it has all files of its tests, and is removed at the end.

A run holds a lock on its folder. So the next run of the same checkout finds the folders of dead
runs, and ends their remaining processes. Processes are found by a mark in their environment,
which children inherit.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO

import psutil

from hack.cluster.process import STATE_DIR_VARIABLE, read_mark

RUN_VARIABLE: Final = "GPU_RUNTIME_TEST_RUN"
LOCK_FILE: Final = "lock"
MAX_KILL_ROUNDS: Final = 20
KILL_SECONDS: Final = 5.0


class UnmarkedProcessError(Exception):
    """A test tried to start a process without the mark of its run."""


class RunDirectory:
    """The locked folder of a run in progress."""

    def __init__(self, path: Path, lock: TextIO) -> None:
        self.path = path
        self._lock = lock

    def close(self) -> list[str]:
        """End every process of the run and remove its files; returns the ended processes."""
        ended = end_processes(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()
        return ended


def new_run_directory(checkout: Path) -> RunDirectory:
    """Create the folder of a new run, after removing the folders of dead runs of this checkout."""
    runs = runs_directory(checkout)
    # Some servers of tests run as other users, which need access.
    runs.mkdir(mode=0o711, exist_ok=True)
    with hold_lock(runs / LOCK_FILE, fcntl.LOCK_EX):
        remove_dead_runs(runs)
        path = Path(tempfile.mkdtemp(prefix="", dir=runs))
        path.chmod(0o711)
        lock = (path / LOCK_FILE).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return RunDirectory(path, lock)


def runs_directory(checkout: Path) -> Path:
    """Return the folder of a checkout's runs; its name is short because socket paths must be."""
    owner = hashlib.sha256(f"{os.getuid()} {checkout}".encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"gpu-tests-{owner}"


def remove_dead_runs(runs: Path) -> None:
    """End the processes of runs that were killed; the caller holds the lock of `runs`."""
    for path in filter(Path.is_dir, runs.iterdir()):
        with suppress(BlockingIOError), hold_lock(path / LOCK_FILE, fcntl.LOCK_EX | fcntl.LOCK_NB):
            end_processes(path)
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def hold_lock(path: Path, operation: int) -> Iterator[None]:
    """Hold a file lock for the length of the block.

    Raises BlockingIOError when it is held and `operation` has LOCK_NB.
    """
    with path.open("a") as lock:
        fcntl.flock(lock, operation)
        yield


def end_processes(run: Path) -> list[str]:
    """Kill the processes of a run, and those that they start meanwhile; returns their names.

    None of them needs a clean end: their files are removed as well.
    """
    ended: list[str] = []
    for _ in range(MAX_KILL_ROUNDS):
        running = run_processes(run)
        if not running:
            break
        for process in running:
            with suppress(psutil.NoSuchProcess):
                ended.append(f"{process.name()} ({process.pid})")
                process.kill()
        psutil.wait_procs(running, timeout=KILL_SECONDS)
    return ended


def run_processes(run: Path) -> list[psutil.Process]:
    """Return every live process that a test of the run started, directly or not."""
    others = (process for process in psutil.process_iter() if process.pid != os.getpid())
    return [process for process in others if belongs_to(process, run)]


def with_run_mark(environment: Mapping[str, str]) -> dict[str, str]:
    """Add the mark of this run to an environment that is not inherited."""
    return {**environment, RUN_VARIABLE: os.environ[RUN_VARIABLE]}


def require_run_mark(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to start a process that could outlive a killed run; an audit hook."""
    if event == "subprocess.Popen" and not has_run_mark(arguments[3]):
        raise UnmarkedProcessError(
            f"{arguments[1]} has no mark of the run: start it with with_run_mark(environment)"
        )


def has_run_mark(environment: Mapping[str, str] | None) -> bool:
    """Return whether a process with this environment belongs to the run; None inherits ours."""
    return environment is None or RUN_VARIABLE in environment or STATE_DIR_VARIABLE in environment


def belongs_to(process: psutil.Process, run: Path) -> bool:
    return any(
        Path(read_mark(process, key) or "/").is_relative_to(run)
        for key in (RUN_VARIABLE, STATE_DIR_VARIABLE)
    )
