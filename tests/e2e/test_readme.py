"""The story of the README, word for word, on the system that `make up` makes."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.local.home import ROOT
from tests.support.local_system import LocalSystem

BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def system(run_folder: Path) -> Iterator[LocalSystem]:
    """A fresh system, as a new user has it."""
    local = LocalSystem(run_folder / "readme" / "local")
    asyncio.run(local.up())
    yield local
    asyncio.run(local.down())


def story(heading: str) -> list[str]:
    """The commands below a heading of the README, block by block."""
    _, found, rest = (ROOT / "README.md").read_text().partition(f"\n## {heading}\n")
    assert found, f"the README has no section {heading!r}"
    return BLOCK.findall(rest.partition("\n## ")[0])


async def shell(system: LocalSystem, commands: str) -> str:
    """What a shell prints that stops at the first failure; `.local` is the test's own folder."""
    script = commands.replace(". .local/env", f". '{system.home}/env'")
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", f". '{system.home}/env'\n{script}"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def test_a_machine_in_seconds(system: LocalSystem) -> None:
    machine, pool = story("A machine in seconds")

    told = await shell(system, machine)
    assert '"status": "succeeded"' in told or '"status": "running"' in told or '"pending"' in told
    assert re.search(r"notebook\s+g1\.1\s+Ready\s+UnitReady", told), told
    assert "took the place of stock" in told

    scaled = await shell(system, pool)
    assert re.search(r"g1-1\s+g1\.1\s+4", scaled), scaled


async def test_files_that_outlive_machines(system: LocalSystem) -> None:
    (commands,) = story("Files that outlive machines")

    told = await shell(system, commands)

    assert re.search(r"trainer.*phase\W+Ready", told), told
    assert re.search(r"files\s+10Gi\s+10Gi\s+Ready\s+trainer", told), told
