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

from hack.cluster.atomic_files import write_whole
from hack.cluster.errors import ClusterError

HOME = "GPU_RUNTIME_HOME"
NAME = "GPU_RUNTIME_PROCESS"
FINGERPRINT = "GPU_RUNTIME_FINGERPRINT"
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Command:
    """How a process is started; `inputs` are texts it also depends on, such as its files."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    stop_seconds: float = 40.0

    def fingerprint(self) -> str:
        parts = (*self.arguments, *sorted(map(str, self.environment.items())), *self.inputs)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


class Process:
    """The process of one command in one cluster's folder (`pids/`, `logs/` are kept there)."""

    def __init__(self, command: Command, home: Path) -> None:
        self.command = command
        self.name = command.name
        self.log = home / "logs" / f"{command.name}.log"
        self._home = home
        self._pid_file = home / "pids" / command.name
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The pid of the process while it runs."""
        found = self._found()
        return found.pid if found else None

    def is_current(self) -> bool:
        """Whether it runs, started in the way that the command says now."""
        found = self._found()
        return found is not None and mark(found, FINGERPRINT) == self.command.fingerprint()

    def start(self) -> None:
        """Start it; the parent may end or get Ctrl-C without taking it along."""
        marks = {
            HOME: str(self._home),
            NAME: self.name,
            FINGERPRINT: self.command.fingerprint(),
        }
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.command.arguments,
                env={**os.environ, **self.command.environment, **marks},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        write_whole(self._pid_file, f"{self._child.pid}\n")

    async def stop(self) -> None:
        """Ask it to end, and kill it when it has not ended in time."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a paused process cannot end
        try:
            async with asyncio.timeout(self.command.stop_seconds):
                await self._ended()
        except TimeoutError:
            await self.kill()
        self._pid_file.unlink(missing_ok=True)

    async def end(self, number: signal.Signals) -> int | None:
        """Signal it and wait; its exit code where it is a child of ours."""
        self._signal(number)
        await self._ended()
        return self._child.returncode if self._child else None

    async def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        await self.end(signal.SIGKILL)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def check_alive(self) -> None:
        """Raise, with the end of its log, when the process has ended."""
        if self.pid is None:
            raise ClusterError(f"{self.name} has ended; the end of {self.log}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 15) -> str:
        try:
            text = self.log.read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        if (found := self._found()) is not None:
            with suppress(psutil.NoSuchProcess):  # it has ended at this moment
                found.send_signal(number)

    async def _ended(self) -> None:
        while self.pid is not None:  # noqa: ASYNC110 - it may be another's child
            await asyncio.sleep(POLL_SECONDS)

    def _found(self) -> psutil.Process | None:
        if self._child is not None and self._child.poll() is None:
            return psutil.Process(self._child.pid)  # its marks may not be readable yet
        try:
            found = psutil.Process(int(self._pid_file.read_text()))
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None
        return found if self._is_ours(found) else None

    def _is_ours(self, found: psutil.Process) -> bool:
        return (mark(found, HOME), mark(found, NAME)) == (str(self._home), self.name)


def mark(found: psutil.Process, key: str) -> str | None:
    """One of our marks in the environment of a live process that we may look at."""
    try:
        if found.status() == psutil.STATUS_ZOMBIE:
            return None
        return found.environ().get(key)
    except psutil.Error:
        return None


def marked(home: Path) -> list[psutil.Process]:
    """Every live process that belongs to the cluster in `home`, with or without a pid file."""
    return [found for found in psutil.process_iter() if mark(found, HOME) == str(home)]
