"""Commands of our documents, run word for word."""

import asyncio
import re
from pathlib import Path

from hack.local.state_dir import ROOT
from tests.support.cluster.local_system import LocalSystem

SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
TIMEOUT_SECONDS = 360.0


def shell_blocks(document: Path, heading: str = "") -> list[str]:
    """The commands of a document, block by block; below one heading where one is given."""
    text = document.read_text()
    if heading:
        _, found, rest = text.partition(f"\n## {heading}\n")
        assert found, f"{document.name} has no section {heading!r}"
        text = rest.partition("\n## ")[0]
    return SHELL_BLOCK.findall(text)


async def run_documented_commands(
    system: LocalSystem, commands: str, timeout_seconds: float = TIMEOUT_SECONDS
) -> str:
    """What a shell prints that stops at the first failure; `.local` is the test's own folder."""
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
