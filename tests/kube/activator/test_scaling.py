"""Functions with as many workers as their queue needs: real API, real units, real queue."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import UNITS
from hack.cluster.control_plane import ControlPlane
from tests.support.checks import event_notes
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.cluster.running_product import (
    RunningProduct,
    create_unit_request,
    new_name,
    run_api,
)
from tests.support.http.api_client import ApiClient
from tests.support.queue.functions_client import FunctionsClient, open_functions
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually


@pytest.fixture
async def product(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[tuple[RunningProduct, FunctionsClient]]:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        run_controller(site),
        run_api(site, tmp_path / "api") as api,
        run_activator(activator_config(site, queue, api.url)),
        open_functions(site, queue) as functions,
    ):
        caller = ApiClient(api.url)
        yield RunningProduct(site, caller, caller), functions


async def test_workers_scale_with_the_queue_from_zero_to_the_maximum_and_back(
    product: tuple[RunningProduct, FunctionsClient],
) -> None:
    installation, functions = product
    spec = await installation.create_ready_stock(3)
    name = await functions.create(spec, maxWorkers=3, targetBacklog=2)
    await functions.wait_status(name, lambda status: status.get("phase") == "Idle")
    for number in range(5):
        await functions.submit(name, f"i{number}")
    status = await functions.wait_status(name, lambda status: status.get("readyWorkers") == 3)
    assert (status["phase"], status["desiredWorkers"], status["queued"]) == ("Ready", 3, 5)
    owners = {
        unit["metadata"]["ownerReferences"][0]["uid"] for unit in await functions.worker_units(name)
    }
    assert owners == {await functions.uid(name)}
    await functions.ack_all(name)
    status = await functions.wait_status(name, lambda status: status.get("phase") == "Idle")
    assert not status.get("workers")
    assert status["workerCounter"] == status["settledCounter"] == 3
    for reason, verb in (("ScaledUp", "created"), ("ScaledDown", "deleted")):
        notes = {f"{verb} worker {name}-{number}" for number in (1, 2, 3)}
        await eventually(lambda reason=reason: notes_of(functions, reason), notes.__eq__)  # type: ignore[misc]


async def notes_of(functions: FunctionsClient, reason: str) -> set[str]:
    """Return the messages of the Events with that reason, without the cause."""
    site = functions.installation
    notes = await event_notes.event_notes(site.admin, site.namespaces.instance, reason)
    return {note.partition(":")[0] for note in notes}


async def test_a_broken_function_and_a_function_without_stock_do_not_block_other_functions(
    product: tuple[RunningProduct, FunctionsClient],
) -> None:
    installation, functions = product
    spec, empty = await installation.create_ready_stock(4), new_name("spec")
    broken = await functions.create(spec, minWorkers=1, image="no image: at all")
    out_of_stock = await functions.create(empty, minWorkers=1)
    good = await functions.create(spec, minWorkers=1)
    await functions.wait_status(good, lambda status: status.get("phase") == "Ready")
    status = await functions.wait_status(
        out_of_stock, lambda status: status.get("phase") == "Degraded"
    )
    assert condition_of(status)["reason"] == "InsufficientStock"
    status = await functions.wait_status(broken, lambda status: status.get("phase") == "Failed")
    assert condition_of(status)["reason"] == "InvalidSpec"

    await installation.seed_stock(empty, 1)  # the function claims it as soon as it is ready
    status = await functions.wait_status(
        out_of_stock, lambda status: status.get("phase") == "Ready"
    )
    assert status["workerCounter"] == 1

    await functions.patch_spec(broken, image="example/mended:1")
    status = await functions.wait_status(broken, lambda status: status.get("phase") == "Ready")
    assert (status["workers"], status["workerCounter"]) == (1, 1)

    await functions.patch_spec(good, image="example/newer:1")
    status = await functions.wait_status(
        good, lambda status: status.get("workerCounter") == 2 and status.get("phase") == "Ready"
    )
    (unit,) = await functions.worker_units(good)
    assert unit["spec"]["image"] == "example/newer:1"


async def test_a_manually_created_worker_counts_and_is_never_deleted(
    product: tuple[RunningProduct, FunctionsClient],
) -> None:
    installation, functions = product
    spec = await installation.create_ready_stock(2)
    name = await functions.create(spec, maxWorkers=2)
    await functions.wait_status(name, lambda status: status.get("phase") == "Idle")
    request = create_unit_request(spec, image="example/another:1", serverless={"requestID": name})
    assert (await installation.api.post(UNITS, request)).status == 201
    await functions.wait_status(name, lambda status: status.get("readyWorkers") == 1)
    await functions.submit(name, "one")
    await functions.submit(name, "two")
    await functions.wait_status(name, lambda status: status.get("readyWorkers") == 2)
    await functions.ack_all(name)
    status = await functions.wait_status(name, lambda status: status.get("workers") == 1)
    assert status["workerCounter"] == 1
    assert [unit["metadata"]["name"] for unit in await functions.worker_units(name)] == [
        request["name"]
    ]


def condition_of(status: dict[str, Any]) -> dict[str, Any]:
    """Return the condition Ready."""
    return next(item for item in status["conditions"] if item["type"] == "Ready")
