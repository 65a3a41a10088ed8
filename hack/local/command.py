"""Commands that run to their end, and kubectl with one kubeconfig."""

import asyncio
from pathlib import Path

from hack.cluster.errors import ClusterError


async def run_command(program: str | Path, *arguments: str) -> str:
    """Run a command and return its output; raises ClusterError with its error output."""
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, error_output = await process.communicate()
    if process.returncode != 0:
        command = " ".join([Path(program).name, *arguments])
        raise ClusterError(f"{command}: {error_output.decode().strip()}")
    return output.decode()


class Kubectl:
    """A runner of kubectl for one cluster; without a kubeconfig, for the user's current one."""

    def __init__(self, program: Path, kubeconfig: Path | None) -> None:
        self.program = program
        self.kubeconfig = kubeconfig

    async def run(self, *arguments: str) -> str:
        options = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        return await run_command(self.program, *options, *arguments)
