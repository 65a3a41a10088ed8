"""Workers that fail by their own program are kept and told of; those without a place go."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.podrunner.runner import running_pods
from serverless.activator.scaling.observed_worker import LOST_MS
from shared.invocation.state import State
from tests.support.builders.simulated_units import pods_of, restarts_of
from tests.support.clocks.shifted_clock import ClockAhead
from tests.support.cluster.in_process_activator import activated, configuration
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit, new_site, ready_of
from tests.support.cluster.node_outages import cordoned_node, lost_node
from tests.support.cluster.our_api import serving
from tests.support.cluster.running_product import new_name
from tests.support.queue.functions_client import Functions, functions_of
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually

NO_MODEL = ["python", "-c", "import sys; print('no model', file=sys.stderr); sys.exit(3)"]
SECONDS = 120.0


@pytest.fixture
async def functions(installed: ControlPlane, tmp_path: Path) -> AsyncIterator[Functions]:
    """A site with everything; to its activator whoever has no place has had none for long."""
    admin = installed.layout.admin_kubeconfig
    async with (
        new_site(installed) as site,
        new_queue(tmp_path / "queue") as queue,
        running_pods(admin, tmp_path / "pods", site.namespaces.instance),
        controlled(site),
        serving(site, tmp_path / "api") as api,
        activated(configuration(site, queue, api.url), ClockAhead(LOST_MS / 1000)),
        functions_of(site, queue) as made,
    ):
        yield made


async def stocked(site: Site, spec: str, node: str = "gpu-0") -> None:
    """One more unit of stock, which is ready and whose worker will be on that node."""
    name, place = new_name("stock"), {"kubernetes.io/hostname": node}
    unit = a_unit(name, specName=spec, memory="64Mi", gpu=0, nodeSelector=place)
    await site.create("gpuunits", unit, namespace=site.namespaces.stock)
    await site.unit_with(name, "StockReady", namespace=site.namespaces.stock, seconds=SECONDS)


def is_ready_with(counter: int) -> Any:
    """Whether the function is ready, after so many workers in its life."""
    return lambda status: status.get("phase") == "Ready" and status.get("settledCounter") == counter


async def test_a_program_that_fails_is_told_of_and_not_replaced_until_it_is_changed(
    functions: Functions,
) -> None:
    site, spec = functions.site, new_name("spec")
    await stocked(site, spec)
    await stocked(site, spec)
    name = await functions.create(
        spec, image="local/echo", template={"command": NO_MODEL}, minWorkers=1, maxWorkers=1
    )
    await functions.submit(name, "patient")
    status = await functions.says(
        name,
        lambda status: ready_of({"status": status}).get("reason") == "WorkerFailed",
        seconds=SECONDS,
    )
    (unit,) = await functions.workers(name)
    worker = unit["metadata"]["name"]
    said = ready_of({"status": status})
    assert (status["phase"], said["status"]) == ("Degraded", "False")
    assert said["message"].startswith(f"{worker}: PodStartupFailed: CrashLoopBackOff: ")
    assert "exit code 3" in said["message"]

    tried = await restarts_of(site, worker)
    await eventually(
        lambda: restarts_of(site, worker), lambda count: count >= tried + 2, seconds=SECONDS
    )
    (kept,) = await functions.workers(name)
    assert kept["metadata"]["uid"] == unit["metadata"]["uid"]
    # Between two ends the program runs, and nobody can know yet that it will fail again.
    status = await functions.says(name, lambda status: status.get("phase") == "Degraded")
    assert status["workerCounter"] == 1

    await functions.change(name, template=None)
    await functions.says(name, is_ready_with(2), seconds=SECONDS)
    done = await functions.becomes(name, "patient", lambda record: record.is_final)
    assert (done.state, done.attempts) == (State.SUCCEEDED, 1)
    (unit,) = await functions.workers(name)
    assert unit["metadata"]["name"] == f"{name}-2"


async def test_a_worker_whose_place_is_gone_is_replaced_by_one_elsewhere(
    functions: Functions,
) -> None:
    site, specs, names = functions.site, (new_name("spec"), new_name("spec")), []
    for spec, node in zip(specs, ("gpu-2", "gpu-3"), strict=True):
        await stocked(site, spec, node)
        names.append(await functions.create(spec, minWorkers=1))
    for name in names:
        await functions.says(name, is_ready_with(1), seconds=SECONDS)
    async with cordoned_node(site.admin, "gpu-2"):
        # The scheduler hears of nodes and of pods apart; what it does now it does after the news.
        for spec in specs:
            await stocked(site, spec, "gpu-1")
        async with lost_node(site.admin, "gpu-3"):
            (evicted,) = await pods_of(site, f"{names[0]}-1")
            await site.admin.delete(site.path("pods", evicted["metadata"]["name"]))
            for name in names:
                await functions.says(name, is_ready_with(2), seconds=SECONDS)
                (unit,) = await functions.workers(name)
                assert unit["metadata"]["name"] == f"{name}-2"
