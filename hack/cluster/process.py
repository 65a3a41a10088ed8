"""One long-running process of a cluster: start, stop, kill, pause, and finding it again later.

A process has its cluster's folder, its name and a fingerprint of its command in its environment. So
a later command finds exactly the processes of its cluster, also when pid files are missing or
pids were reused.
"""

import asyncio
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
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
    """The command of a process.

    `fingerprint_inputs` are texts on which the command depends, such as its files.
    """

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
    """The process of one command in one cluster's folder, with its pid file and log."""

    def __init__(self, command: Command, state_dir: Path) -> None:
        self.command = command
        self.name = command.name
        self.log_path = state_dir / "logs" / f"{command.name}.log"
        self._state_dir = state_dir
        self._pid_file = state_dir / "pids" / command.name
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return the pid while the process runs, otherwise None."""
        process = self._find_process()
        return process.pid if process else None

    def is_up_to_date(self) -> bool:
        """Return whether the process runs with its current command."""
        process = self._find_process()
        return (
            process is not None
            and read_mark(process, FINGERPRINT_VARIABLE) == self.command.fingerprint()
        )

    def start(self) -> None:
        """Start the process in its own session: it survives its parent and Ctrl-C."""
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
        """Stop the process with SIGTERM, and kill it if it does not end in time."""
        process = self._find_process()
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a paused process cannot end
        try:
            async with asyncio.timeout(self.command.stop_seconds):
                await self._wait_ended(process)
        except TimeoutError:
            await self.kill()
        self._pid_file.unlink(missing_ok=True)

    async def signal_and_wait(self, signal_number: signal.Signals) -> int | None:
        """Send a signal and wait for the end; return the exit code of a child, otherwise None."""
        process = self._find_process()
        self._signal(signal_number)
        await self._wait_ended(process)
        return self._child.returncode if self._child else None

    async def kill(self) -> None:
        """Kill the process with SIGKILL, and wait for its end."""
        await self.signal_and_wait(signal.SIGKILL)

    async def pause(self) -> None:
        """Stop the process until `resume`; a loaded machine delivers the signal a little later."""
        process = self._find_process()
        self._signal(signal.SIGSTOP)
        await wait_while(lambda: process is not None and is_running(process))

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def check_alive(self) -> None:
        """Raise ClusterError with the end of the log if the process has ended."""
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
        if (process := self._find_process()) is not None:
            with suppress(psutil.NoSuchProcess):  # the process has just ended
                process.send_signal(signal_number)

    async def _wait_ended(self, process: psutil.Process | None) -> None:
        """Wait until no thread of the process is left: until then its ports are in use.

        Its marks are unreadable before that, as soon as its main thread has ended.
        """
        await wait_while(lambda: process is not None and has_threads(process))
        if self._child is not None:
            self._child.poll()  # reaps it

    def _find_process(self) -> psutil.Process | None:
        if self._child is not None and self._child.poll() is None:
            return psutil.Process(self._child.pid)  # before its exec its marks are not readable
        try:
            process = psutil.Process(int(self._pid_file.read_text()))
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None
        return process if self._has_our_marks(process) else None

    def _has_our_marks(self, process: psutil.Process) -> bool:
        return (
            read_mark(process, STATE_DIR_VARIABLE),
            read_mark(process, PROCESS_NAME_VARIABLE),
        ) == (str(self._state_dir), self.name)


def has_threads(process: psutil.Process) -> bool:
    """Return whether a thread of the process runs; the main thread may have ended before."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return process.num_threads() > 1
        return process.is_running()
    except psutil.NoSuchProcess:
        return False


def is_running(process: psutil.Process) -> bool:
    """Return whether the process has threads, and no signal has stopped it."""
    try:
        return has_threads(process) and process.status() != psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


async def wait_while(condition: Callable[[], bool]) -> None:
    """Wait while a condition holds that no event reports, such as the end of another's child."""
    while condition():  # noqa: ASYNC110 - see above
        await asyncio.sleep(POLL_SECONDS)


def read_mark(process: psutil.Process, key: str) -> str | None:
    """Return a mark from the environment of a live process; None if missing or unreadable."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get(key)
    except psutil.Error:
        return None


def marked_processes(state_dir: Path) -> list[psutil.Process]:
    """Return every live process of the cluster in `state_dir`, with or without a pid file."""
    return [
        process
        for process in psutil.process_iter()
        if read_mark(process, STATE_DIR_VARIABLE) == str(state_dir)
    ]
