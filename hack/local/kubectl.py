"""kubectl with one kubeconfig."""

import asyncio
from pathlib import Path

from hack.cluster.errors import ClusterError


class Kubectl:
    """Runs kubectl against one cluster; a failure is an error with what it printed."""

    def __init__(self, program: Path, kubeconfig: Path | None) -> None:
        self.program = program
        self.kubeconfig = kubeconfig

    async def run(self, *arguments: str) -> str:
        where = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        process = await asyncio.create_subprocess_exec(
            self.program,
            *where,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(arguments)}: {errors.decode().strip()}")
        return output.decode()
