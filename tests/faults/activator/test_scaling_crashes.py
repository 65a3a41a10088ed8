"""The activator dies at any write: the next one goes on, and no worker is made twice or lost."""

from pathlib import Path
from typing import Any

from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.in_process_activator import activated, configuration, doomed_activator
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import new_site
from tests.support.cluster.our_api import serving
from tests.support.cluster.running_product import Installation
from tests.support.http.api_client import Caller
from tests.support.queue.functions_client import Functions, functions_of
from tests.support.queue.nats_server import new_queue
from tests.support.wait.first_of import first_of

ENOUGH_WRITES = 16


async def up_and_down(functions: Functions, name: str) -> None:
    """The function gets its one worker, then wants none and loses it."""
    await functions.says(name, lambda status: status.get("readyWorkers") == 1)
    await functions.change(name, minWorkers=0)
    await functions.says(name, is_at_rest)


def is_at_rest(status: dict[str, Any]) -> bool:
    is_settled = status.get("workerCounter") == status.get("settledCounter") == 1
    return is_settled and status.get("phase") == "Idle"


async def test_scaling_survives_a_crash_at_every_write(
    installed: ControlPlane, tmp_path: Path
) -> None:
    """To die before a write is to die after the one before it, so only the first is tried both."""
    async with (
        new_site(installed) as site,
        new_queue(tmp_path / "queue") as queue,
        controlled(site),
        serving(site, tmp_path / "api") as api,
        functions_of(site, queue) as functions,
    ):
        config = configuration(site, queue, api.url)
        spec = await Installation(site, Caller(api.url), Caller(api.url)).stocked(ENOUGH_WRITES)
        lines: list[str] = []
        for dies_at in range(ENOUGH_WRITES):
            name = await functions.create(spec, minWorkers=1, idleTimeoutSeconds=0)
            is_after = dies_at > 0
            async with doomed_activator(
                config, dies_at=max(dies_at, 1), after_sending=is_after
            ) as mortal:
                await first_of(up_and_down(functions, name), mortal.died.wait())
            async with activated(config):
                await follow(functions, name)
            assert await functions.workers(name) == [], mortal.last_call
            if not mortal.last_call:
                break
            lines.append(mortal.last_call)

    assert len(lines) < ENOUGH_WRITES, f"it did not end within {ENOUGH_WRITES} writes: {lines}"
    assert any(line.startswith("POST http") for line in lines), lines
    assert any(line.startswith("DELETE http") for line in lines), lines


async def follow(functions: Functions, name: str) -> None:
    """The rest of the way, from wherever the one before has died."""
    status = await functions.says(
        name, lambda status: status.get("readyWorkers") == 1 or is_at_rest(status)
    )
    if not is_at_rest(status):
        await functions.change(name, minWorkers=0)
        await functions.says(name, is_at_rest)
