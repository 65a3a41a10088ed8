"""Crashes of the activator at any write: the next one continues.

No worker is created twice or lost.
"""

from pathlib import Path
from typing import Any

from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.in_process_activator import (
    activator_config,
    run_activator,
)
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.cluster.running_product import RunningProduct, run_api
from tests.support.faults.crashing_activator import run_crashing_activator
from tests.support.http.api_client import ApiClient
from tests.support.queue.functions_client import FunctionsClient, open_functions
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.first_of import wait_for_first

MAX_WRITES = 16


async def scale_up_and_down(functions: FunctionsClient, name: str) -> None:
    """Wait until the function has its one worker, and then until the worker is deleted."""
    await functions.wait_status(name, lambda status: status.get("readyWorkers") == 1)
    await functions.patch_spec(name, minWorkers=0)
    await functions.wait_status(name, is_idle)


def is_idle(status: dict[str, Any]) -> bool:
    is_settled = status.get("workerCounter") == status.get("settledCounter") == 1
    return is_settled and status.get("phase") == "Idle"


async def test_scaling_survives_a_crash_at_every_write(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Test a crash before a write only for the first write.

    For every other write it equals a crash after the write before.
    """
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        run_controller(site),
        run_api(site, tmp_path / "api") as api,
        open_functions(site, queue) as functions,
    ):
        config = activator_config(site, queue, api.url)
        spec = await RunningProduct(
            site, ApiClient(api.url), ApiClient(api.url)
        ).create_ready_stock(MAX_WRITES)
        writes: list[str] = []
        for crash_at in range(MAX_WRITES):
            name = await functions.create(spec, minWorkers=1, idleTimeoutSeconds=0)
            async with run_crashing_activator(
                config, crash_at_write=max(crash_at, 1), after_sending=crash_at > 0
            ) as client:
                await wait_for_first(scale_up_and_down(functions, name), client.crashed.wait())
            async with run_activator(config):
                await complete_scaling(functions, name)
            assert await functions.worker_units(name) == [], client.fatal_call
            if not client.fatal_call:
                break
            writes.append(client.fatal_call)

    assert len(writes) < MAX_WRITES, f"more than {MAX_WRITES} writes: {writes}"
    assert any(write.startswith("POST http") for write in writes), writes
    assert any(write.startswith("DELETE http") for write in writes), writes


async def complete_scaling(functions: FunctionsClient, name: str) -> None:
    """Complete the scaling from the point where the previous activator crashed."""
    status = await functions.wait_status(
        name, lambda status: status.get("readyWorkers") == 1 or is_idle(status)
    )
    if not is_idle(status):
        await functions.patch_spec(name, minWorkers=0)
        await functions.wait_status(name, is_idle)
