"""One long-running process of a cluster: start, stop, kill, pause, and find it again later.

A process carries its cluster's folder, its name and a fingerprint of how it was started in its
environment. So a later command finds exactly the processes that it may touch, whatever became of
the pid files and however often pids were used again.
"""

import asyncio
import hashlib
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from hack.cluster.atomic_files import write_atomic
from hack.cluster.errors import ClusterError

STATE_DIR_VARIABLE = "GPU_RUNTIME_HOME"
PROCESS_NAME_VARIABLE = "GPU_RUNTIME_PROCESS"
FINGERPRINT_VARIABLE = "GPU_RUNTIME_FINGERPRINT"
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Command:
    """How a process is started; `inputs` are texts it also depends on, such as its files."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    fingerprint_inputs: tuple[str, ...] = ()
    stop_seconds: float = 40.0

    def fingerprint(self) -> str:
        parts = (
            *self.arguments,
            *sorted(map(str, self.environment.items())),
            *self.fingerprint_inputs,
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


class Process:
    """The process of one command in one cluster's folder (`pids/`, `logs/` are kept there)."""

    def __init__(self, command: Command, state_dir: Path) -> None:
        self.command = command
        self.name = command.name
        self.log_path = state_dir / "logs" / f"{command.name}.log"
        self._state_dir = state_dir
        self._pid_file = state_dir / "pids" / command.name
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The pid of the process while it runs."""
        found = self._find_process()
        return found.pid if found else None

    def is_up_to_date(self) -> bool:
        """Whether it runs, started in the way that the command says now."""
        found = self._find_process()
        return (
            found is not None
            and read_mark(found, FINGERPRINT_VARIABLE) == self.command.fingerprint()
        )

    def start(self) -> None:
        """Start it; the parent may end or get Ctrl-C without taking it along."""
        marks = {
            STATE_DIR_VARIABLE: str(self._state_dir),
            PROCESS_NAME_VARIABLE: self.name,
            FINGERPRINT_VARIABLE: self.command.fingerprint(),
        }
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._child = subprocess.Popen(
                self.command.arguments,
                env={**os.environ, **self.command.environment, **marks},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        write_atomic(self._pid_file, f"{self._child.pid}\n")

    async def stop(self) -> None:
        """Ask it to end, and kill it when it has not ended in time."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a paused process cannot end
        try:
            async with asyncio.timeout(self.command.stop_seconds):
                await self._wait_ended()
        except TimeoutError:
            await self.kill()
        self._pid_file.unlink(missing_ok=True)

    async def signal_and_wait(self, signal_number: signal.Signals) -> int | None:
        """Signal it and wait; its exit code where it is a child of ours."""
        self._signal(signal_number)
        await self._wait_ended()
        return self._child.returncode if self._child else None

    async def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        await self.signal_and_wait(signal.SIGKILL)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def check_alive(self) -> None:
        """Raise, with the end of its log, when the process has ended."""
        if self.pid is None:
            raise ClusterError(
                f"{self.name} has ended; the end of {self.log_path}:\n{self.log_tail()}"
            )

    def log_tail(self, lines: int = 15) -> str:
        try:
            text = self.log_path.read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _signal(self, signal_number: signal.Signals) -> None:
        if (found := self._find_process()) is not None:
            with suppress(psutil.NoSuchProcess):  # it has ended at this moment
                found.send_signal(signal_number)

    async def _wait_ended(self) -> None:
        while self.pid is not None:  # noqa: ASYNC110 - it may be another's child
            await asyncio.sleep(POLL_SECONDS)

    def _find_process(self) -> psutil.Process | None:
        if self._child is not None and self._child.poll() is None:
            return psutil.Process(self._child.pid)  # its marks may not be readable yet
        try:
            found = psutil.Process(int(self._pid_file.read_text()))
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None
        return found if self._has_our_marks(found) else None

    def _has_our_marks(self, process: psutil.Process) -> bool:
        return (
            read_mark(process, STATE_DIR_VARIABLE),
            read_mark(process, PROCESS_NAME_VARIABLE),
        ) == (str(self._state_dir), self.name)


def read_mark(process: psutil.Process, key: str) -> str | None:
    """One of our marks in the environment of a live process that we may look at."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get(key)
    except psutil.Error:
        return None


def marked_processes(state_dir: Path) -> list[psutil.Process]:
    """Every live process that belongs to the cluster in `home`, with or without a pid file."""
    return [
        found
        for found in psutil.process_iter()
        if read_mark(found, STATE_DIR_VARIABLE) == str(state_dir)
    ]
