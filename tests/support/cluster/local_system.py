"""The local system of `make up`, in a folder of the test."""

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psutil
import yaml

from hack.cluster.ports import PORT_RANGE_VARIABLE
from hack.cluster.process import PROCESS_NAME_VARIABLE, marked_processes, read_mark
from hack.local import product_processes
from hack.local.settings import PREFERRED_PORTS
from hack.local.state_dir import ROOT
from tests.runner.ports import new_ports
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.wait.eventually import eventually

# For the servers, and for the pods that run there.
PORT_COUNT = 100


class LocalSystem:
    """A runner of the commands behind make up, down and status, and a reader of their files."""

    def __init__(self, state_dir: Path, environment: Mapping[str, str] | None = None) -> None:
        self.state_dir = state_dir
        self.ports = new_ports(PORT_COUNT)
        own_variables = {
            "PYTHONPATH": str(ROOT),
            PORT_RANGE_VARIABLE: f"{self.ports[0]}-{self.ports[-1]}",
        }
        self._environment = {**os.environ, **(environment or {}), **own_variables}
        self._commands: list[asyncio.subprocess.Process] = []

    def preferred_port(self, name: str) -> int:
        """Return the port that a server gets if it is free."""
        return dict(zip(PREFERRED_PORTS, self.ports, strict=False))[name]

    async def start_command(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start a command in the background, as a script does: with Ctrl-C ignored."""
        command = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh", sys.executable),
            *("-m", "hack.local", "--home", str(self.state_dir), *arguments),
            cwd=ROOT,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self._commands.append(command)
        return command

    async def kill_commands(self) -> None:
        """Kill the commands that still run: `down` would wait for them."""
        for command in self._commands:
            if command.returncode is None:
                command.kill()
                await command.wait()

    async def run_command(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        """Run a command to its end; returns its exit code and its output."""
        process = await self.start_command(*arguments)
        output, _ = await process.communicate(stdin.encode())
        return process.returncode or 0, output.decode()

    async def up(self, *arguments: str) -> str:
        code, output = await self.run_command("up", *arguments)
        assert code == 0, output
        return output

    async def down(self) -> str:
        code, output = await self.run_command("down")
        assert code == 0, output
        return output

    async def kill(self, *names: str) -> None:
        """Kill processes with SIGKILL, and wait until they have ended."""
        targets = {
            name: psutil.Process(pid) for name, pid in self.running_pids().items() if name in names
        }
        assert targets.keys() == set(names)
        for process in targets.values():
            process.kill()
        await eventually(
            lambda: asyncio.to_thread(lambda: set(self.running_pids().values())),
            lambda running: running.isdisjoint(process.pid for process in targets.values()),
        )

    def running_pids(self) -> dict[str, int]:
        """Return the pids of the processes of this system, by name.

        Before its exec a child has the marks of its parent, so the oldest process of a name counts.
        """
        youngest_first = reversed(marked_processes(self.state_dir))
        named = [
            (read_mark(process, PROCESS_NAME_VARIABLE), process.pid) for process in youngest_first
        ]
        return {name: pid for name, pid in named if name is not None}

    def pid_files(self) -> dict[str, int]:
        folder = self.state_dir / "pids"
        files = [path for path in folder.iterdir() if not path.name.startswith(".")]
        return {path.name: int(path.read_text()) for path in files}

    def environment(self) -> dict[str, str]:
        """Return the variables of `.local/env`."""
        lines = (self.state_dir / "env").read_text().splitlines()
        pairs = [line.split("=", 1) for line in lines if not line.startswith("export ")]
        return {name: shlex.split(value)[0] for name, value in pairs}

    def run_another_api(self, state_dir: Path) -> AbstractAsyncContextManager[ProductProcess]:
        """Run one more replica of the API for the length of the block; `down` does not stop it."""
        path = product_processes.config_path(self.state_dir, product_processes.RUNTIME_API)
        settings = yaml.safe_load(path.read_text())
        del settings["httpAddr"]
        return run_product_process(product_processes.RUNTIME_API, state_dir, settings)
