"""Commands of documents, run as they are written."""

import asyncio
import re
from pathlib import Path

from hack.local.state_dir import ROOT
from tests.support.cluster.local_system import LocalSystem

SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
TIMEOUT_SECONDS = 360.0


def shell_blocks(document: Path, heading: str = "") -> list[str]:
    """Return the shell blocks of a document, or of one section."""
    text = document.read_text()
    if heading:
        _, separator, section = text.partition(f"\n## {heading}\n")
        assert separator, f"{document.name} has no section {heading!r}"
        text = section.partition("\n## ")[0]
    return SHELL_BLOCK.findall(text)


async def run_documented_commands(
    system: LocalSystem, commands: str, timeout_seconds: float = TIMEOUT_SECONDS
) -> str:
    """Run commands in a shell that stops at the first failure; returns the output.

    `.local` is replaced by the folder of the test's system.
    """
    script = commands.replace(". .local/env", f". '{system.state_dir}/env'")
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", f". '{system.state_dir}/env'\n{script}"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(timeout_seconds):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()
