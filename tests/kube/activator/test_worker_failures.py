"""Failing workers: kept and reported if their program is broken, deleted if they have no node."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.podrunner.runner import run_pods
from serverless.activator.scaling.observed_worker import LOST_AFTER_MS
from shared.invocation.state import InvocationState
from tests.support.builders.simulated_units import restart_count, unit_pods
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    new_isolated_installation,
    ready_condition,
    unit_manifest,
)
from tests.support.cluster.node_outages import cordon_node, make_node_not_ready
from tests.support.cluster.running_product import new_name, run_api
from tests.support.queue.functions_client import FunctionsClient, open_functions
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NO_MODEL = ["python", "-c", "import sys; print('no model', file=sys.stderr); sys.exit(3)"]
TIMEOUT_SECONDS = 120.0


@pytest.fixture
async def functions(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[FunctionsClient]:
    """Run a site with all components.

    The activator's clock is ahead, so a worker without a node is overdue at once.
    """
    admin = installed_control_plane.layout.admin_kubeconfig
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        run_pods(admin, tmp_path / "pods", site.namespaces.instance),
        run_controller(site),
        run_api(site, tmp_path / "api") as api,
        run_activator(activator_config(site, queue, api.url), ShiftedClock(LOST_AFTER_MS / 1000)),
        open_functions(site, queue) as client,
    ):
        yield client


async def create_stock_unit(site: IsolatedInstallation, spec: str, node: str = "gpu-0") -> None:
    """Create one more stock unit that is ready and whose worker will be on that node."""
    name, node_selector = new_name("stock"), {"kubernetes.io/hostname": node}
    unit = unit_manifest(name, specName=spec, memory="64Mi", gpu=0, nodeSelector=node_selector)
    await site.create("gpuunits", unit, namespace=site.namespaces.stock)
    await site.wait_unit_reason(
        name, "StockReady", namespace=site.namespaces.stock, timeout_seconds=TIMEOUT_SECONDS
    )


def is_ready_with(counter: int) -> Any:
    """Return a check that the function is ready and has created so many workers in its life."""
    return lambda status: status.get("phase") == "Ready" and status.get("settledCounter") == counter


async def test_a_failing_worker_is_reported_and_replaced_only_after_a_function_change(
    functions: FunctionsClient,
) -> None:
    site, spec = functions.installation, new_name("spec")
    await create_stock_unit(site, spec)
    await create_stock_unit(site, spec)
    name = await functions.create(
        spec, image="local/echo", template={"command": NO_MODEL}, minWorkers=1, maxWorkers=1
    )
    await functions.submit(name, "waiting")
    status = await functions.wait_status(
        name,
        lambda status: ready_condition({"status": status}).get("reason") == "WorkerFailed",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    (unit,) = await functions.worker_units(name)
    worker = unit["metadata"]["name"]
    condition = ready_condition({"status": status})
    assert (status["phase"], condition["status"]) == ("Degraded", "False")
    assert condition["message"].startswith(f"{worker}: PodStartupFailed: CrashLoopBackOff: ")
    assert "exit code 3" in condition["message"]

    restarts = await restart_count(site, worker)
    await eventually(
        lambda: restart_count(site, worker),
        lambda count: count >= restarts + 2,
        timeout_seconds=TIMEOUT_SECONDS,
    )
    (same_unit,) = await functions.worker_units(name)
    assert same_unit["metadata"]["uid"] == unit["metadata"]["uid"]
    # Between two exits the program runs, and the activator cannot know yet that it will fail again.
    status = await functions.wait_status(name, lambda status: status.get("phase") == "Degraded")
    assert status["workerCounter"] == 1

    await functions.patch_spec(name, template=None)
    await functions.wait_status(name, is_ready_with(2), timeout_seconds=TIMEOUT_SECONDS)
    record = await functions.wait_record(name, "waiting", lambda record: record.is_final)
    assert (record.state, record.attempts) == (InvocationState.SUCCEEDED, 1)
    (unit,) = await functions.worker_units(name)
    assert unit["metadata"]["name"] == f"{name}-2"


async def test_a_worker_on_a_lost_node_is_replaced_on_another_node(
    functions: FunctionsClient,
) -> None:
    site, specs, names = functions.installation, (new_name("spec"), new_name("spec")), []
    for spec, node in zip(specs, ("gpu-2", "gpu-3"), strict=True):
        await create_stock_unit(site, spec, node)
        names.append(await functions.create(spec, minWorkers=1))
    for name in names:
        await functions.wait_status(name, is_ready_with(1), timeout_seconds=TIMEOUT_SECONDS)
    async with cordon_node(site.admin, "gpu-2"):
        # The scheduler watches nodes and pods separately; the next step has to follow both updates.
        for spec in specs:
            await create_stock_unit(site, spec, "gpu-1")
        async with make_node_not_ready(site.admin, "gpu-3"):
            (evicted,) = await unit_pods(site, f"{names[0]}-1")
            await site.admin.delete(site.path("pods", evicted["metadata"]["name"]))
            for name in names:
                await functions.wait_status(name, is_ready_with(2), timeout_seconds=TIMEOUT_SECONDS)
                (unit,) = await functions.worker_units(name)
                assert unit["metadata"]["name"] == f"{name}-2"
