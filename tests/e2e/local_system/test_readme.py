"""The commands of the README, word for word, on the system that `make up` starts."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.local.state_dir import ROOT
from tests.support.checks.documented_commands import run_documented_commands, shell_blocks
from tests.support.cluster.local_system import LocalSystem
from tests.support.wait.eventually import eventually

DESCRIBE = '"$KUBECTL" describe gpuunit notebook -n runtime-instance'


@pytest.fixture(scope="module")
def system(run_dir: Path) -> Iterator[LocalSystem]:
    """Bring up a new system, as a new user would."""
    local = LocalSystem(run_dir / "readme" / "local")
    asyncio.run(local.up())
    yield local
    asyncio.run(local.down())


def commands_below(heading: str) -> list[str]:
    """Return the commands below a heading of the README, block by block."""
    return shell_blocks(ROOT / "README.md", heading)


def uids(output: str) -> list[str]:
    """Return the uids of the unit, in the order of the output."""
    return re.findall(r'"name":"notebook".*?"uid":"([^"]+)"', output)


async def test_the_readme_commands_create_a_unit(system: LocalSystem) -> None:
    machine, again, pool = commands_below("A machine in seconds")

    output = await run_documented_commands(system, machine)
    assert re.search(r'"status":"succeeded"', output), output
    assert re.search(r"notebook\s+g1\.1\s+Ready\s+UnitReady", output), output
    await eventually(  # Events are written a moment after the change they report
        lambda: run_documented_commands(system, DESCRIBE),
        lambda output: "replaced stock unit" in output,
    )

    replayed = await run_documented_commands(system, again)
    created, waited, repeated, listed = uids(output + replayed)
    assert created == waited == repeated == listed
    assert "operation_conflict" in replayed

    scaled = await run_documented_commands(system, pool)
    assert re.search(r"g1-1\s+g1\.1\s+4", scaled), scaled


async def test_the_readme_commands_keep_a_storage_beyond_its_unit(system: LocalSystem) -> None:
    (commands,) = commands_below("Files that outlive machines")

    output = await run_documented_commands(system, commands)

    assert re.search(r"trainer.*phase\W+Ready", output), output
    assert re.search(r"files\s+10Gi\s+10Gi\s+Ready\s+trainer", output), output
