"""kubectl with one kubeconfig."""

from pathlib import Path

from hack.local.command import run_command


class Kubectl:
    """Runs kubectl against one cluster; without a kubeconfig against the user's own."""

    def __init__(self, program: Path, kubeconfig: Path | None) -> None:
        self.program = program
        self.kubeconfig = kubeconfig

    async def run(self, *arguments: str) -> str:
        where = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        return await run_command(self.program, *where, *arguments)
