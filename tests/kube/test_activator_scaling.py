"""Functions get as many workers as their queue needs: real API, real units, real queue."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hack.cluster.controlplane import ControlPlane
from tests.support.activator import activated, configuration
from tests.support.caller import Caller
from tests.support.functions import Functions, functions_of
from tests.support.installation import Installation
from tests.support.our_api import serving
from tests.support.our_controller import controlled
from tests.support.queue_server import new_queue
from tests.support.site import new_site


@pytest.fixture
async def world(
    installed: ControlPlane, tmp_path: Path
) -> AsyncIterator[tuple[Installation, Functions]]:
    async with (
        new_site(installed) as site,
        new_queue(tmp_path / "queue") as queue,
        controlled(site),
        serving(site, tmp_path / "api") as api,
        activated(configuration(site, queue, api.url)),
        functions_of(site, queue) as functions,
    ):
        caller = Caller(api.url)
        yield Installation(site, caller, caller), functions


async def test_workers_follow_the_queue_from_none_to_all_and_back(
    world: tuple[Installation, Functions],
) -> None:
    installation, functions = world
    spec = await installation.stocked(3)
    name = await functions.create(spec, maxWorkers=3, targetBacklog=2)
    await functions.says(name, lambda status: status.get("phase") == "Idle")
    for number in range(5):
        await functions.submit(name, f"i{number}")
    status = await functions.says(name, lambda status: status.get("workers") == 3)
    assert status["desiredWorkers"] == 3
    await functions.work_off(name)
    status = await functions.says(name, lambda status: status.get("phase") == "Idle")
    assert "workers" not in status
    assert status["workerCounter"] == status["settledCounter"] == 3
