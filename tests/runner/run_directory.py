"""The folder of one test run: what its tests start lives there, and ends with it.

A run locks its folder for as long as it lives. So the next run of the same checkout can tell which
folders belong to dead runs, and end what is left of those. Processes are found by a mark in their
environment, which their children inherit.
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
    """A test wanted to start a process without the mark of its run."""


class RunDirectory:
    """The folder of a run that goes on, held by a lock."""

    def __init__(self, path: Path, lock: TextIO) -> None:
        self.path = path
        self._lock = lock

    def close(self) -> list[str]:
        """End every process of the run and remove its files; what had to be ended."""
        ended = end_processes(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()
        return ended


def new_run_directory(checkout: Path) -> RunDirectory:
    """Make the folder of a new run, after removing what dead runs of the same checkout left."""
    runs = runs_directory(checkout)
    # Servers of tests run as other users too, and pass through here.
    runs.mkdir(mode=0o711, exist_ok=True)
    with hold_lock(runs / LOCK_FILE, fcntl.LOCK_EX):
        remove_dead_runs(runs)
        path = Path(tempfile.mkdtemp(prefix="", dir=runs))
        path.chmod(0o711)
        lock = (path / LOCK_FILE).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return RunDirectory(path, lock)


def runs_directory(checkout: Path) -> Path:
    """Where the runs of a checkout are; the name is short because paths of sockets have to be."""
    owner = hashlib.sha256(f"{os.getuid()} {checkout}".encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"gpu-tests-{owner}"


def remove_dead_runs(runs: Path) -> None:
    """End what runs left behind that were killed; needs the lock of `runs`."""
    for path in filter(Path.is_dir, runs.iterdir()):
        with suppress(BlockingIOError), hold_lock(path / LOCK_FILE, fcntl.LOCK_EX | fcntl.LOCK_NB):
            end_processes(path)
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def hold_lock(path: Path, operation: int) -> Iterator[None]:
    """Hold the lock for the length of the block; raises BlockingIOError where `how` says so."""
    with path.open("a") as lock:
        fcntl.flock(lock, operation)
        yield


def end_processes(run: Path) -> list[str]:
    """Kill the processes of a run, and what they start meanwhile; their names.

    None of them needs a clean end: their files go as well.
    """
    ended: list[str] = []
    for _ in range(MAX_KILL_ROUNDS):
        doomed = run_processes(run)
        if not doomed:
            break
        for each in doomed:
            with suppress(psutil.NoSuchProcess):
                ended.append(f"{each.name()} ({each.pid})")
                each.kill()
        psutil.wait_procs(doomed, timeout=KILL_SECONDS)
    return ended


def run_processes(run: Path) -> list[psutil.Process]:
    """Every live process that a test of the run started, directly or not, but not this one."""
    others = (each for each in psutil.process_iter() if each.pid != os.getpid())
    return [each for each in others if belongs_to(each, run)]


def with_run_mark(environment: Mapping[str, str]) -> dict[str, str]:
    """Add the mark of this run to an environment that is not inherited as a whole."""
    return {**environment, RUN_VARIABLE: os.environ[RUN_VARIABLE]}


def require_run_mark(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to start a process that a run which is killed would leave behind; an audit hook."""
    if event == "subprocess.Popen" and not has_run_mark(arguments[3]):
        raise UnmarkedProcessError(
            f"{arguments[1]} would not be found after the run: give it marked(environment)"
        )


def has_run_mark(environment: Mapping[str, str] | None) -> bool:
    """Tell whether a process with this environment, or with all of ours, belongs to the run."""
    return environment is None or RUN_VARIABLE in environment or STATE_DIR_VARIABLE in environment


def belongs_to(process: psutil.Process, run: Path) -> bool:
    return any(
        Path(read_mark(process, key) or "/").is_relative_to(run)
        for key in (RUN_VARIABLE, STATE_DIR_VARIABLE)
    )
