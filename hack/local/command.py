"""Running one command to its end."""

import asyncio
from pathlib import Path

from hack.cluster.errors import ClusterError


async def run_command(program: str | Path, *arguments: str) -> str:
    """What the command prints; a failure is an error with what it complained about."""
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, complaint = await process.communicate()
    if process.returncode != 0:
        said = " ".join([Path(program).name, *arguments])
        raise ClusterError(f"{said}: {complaint.decode().strip()}")
    return output.decode()
