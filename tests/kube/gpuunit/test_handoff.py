"""The hand-off from stock to a unit on the real scheduler: the GPU goes to the claiming unit."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from shared.config.duration import Duration
from shared.v1alpha1.wellknown import CLAIM_OPERATION_ANNOTATION
from tests.support.builders import api_steps
from tests.support.builders.api_steps import CreateUnitSteps, new_create, new_create_with_stock
from tests.support.builders.full_cluster import (
    assert_no_eviction,
    fill_cluster,
    nodes_of,
    nominations,
    ready_units,
    stock_unit_manifests,
)
from tests.support.builders.gpu_storages import create_storage, storage_manifest
from tests.support.builders.pods import PAUSED, resume_pods
from tests.support.builders.simulated_units import wait_unit_message
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, ready_condition
from tests.support.cluster.node_outages import make_node_not_ready
from tests.support.wait.eventually import eventually

HANDOFFS = 30
SLOW = {"sim.local/stop": "late", "sim.local/stop-for": PAUSED}


async def wait_handed_over(site: IsolatedInstallation, orders: Sequence[CreateUnitSteps]) -> None:
    """Wait until all units are ready on their stock units' nodes, and the stock is gone."""
    count = len(orders)
    units = await eventually(lambda: ready_units(site), lambda units: len(units) == count)
    assert nodes_of(units) == {
        order.unit_name: order.stock["status"]["nodeName"] for order in orders
    }
    for order in orders:
        await site.wait_gone("gpuunits", order.stock_name, namespace=site.namespaces.stock)


async def test_thirty_units_get_the_gpus_that_they_claimed(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        stock = await fill_cluster(
            installation, stock_unit_manifests(), namespace=installation.namespaces.stock
        )
        orders = [
            new_create(f"u{number}", stock_unit)
            for number, stock_unit in enumerate(stock[:HANDOFFS])
        ]

        await asyncio.gather(*(api_steps.create_unit(installation, order) for order in orders))

        await wait_handed_over(installation, orders)
        await assert_no_eviction(installation)


async def test_a_slowly_freed_gpu_stays_nominated_for_its_unit(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        stock = await fill_cluster(
            installation, stock_unit_manifests(SLOW), namespace=installation.namespaces.stock
        )
        orders = [
            new_create(f"u{number}", stock_unit) for number, stock_unit in enumerate(stock[:8])
        ]

        await asyncio.gather(*(api_steps.create_unit(installation, order) for order in orders))

        await eventually(
            lambda: installation.get_unit(orders[0].unit_name),
            lambda unit: "are being freed" in ready_condition(unit).get("message", ""),
        )
        pods = await eventually(
            lambda: terminating_stock_pods(installation), lambda pods: len(pods) == len(orders)
        )
        await resume_pods(installation, pods, "stop-for")
        await wait_handed_over(installation, orders)
        await assert_no_eviction(installation)


async def test_a_unit_with_larger_requests_than_its_stock_keeps_the_gpu(
    installation: IsolatedInstallation,
) -> None:
    default = {"type": "Container", "defaultRequest": {"cpu": "100m"}}
    await installation.create(
        "limitranges", {"metadata": {"name": "cpu"}, "spec": {"limits": [default]}}
    )
    async with run_controller(installation):
        stock = await fill_cluster(
            installation, stock_unit_manifests(SLOW), namespace=installation.namespaces.stock
        )
        orders = [
            new_create(f"u{number}", stock_unit) for number, stock_unit in enumerate(stock[:4])
        ]

        await asyncio.gather(*(api_steps.create_unit(installation, order) for order in orders))

        expected = {order.unit_name: order.stock["status"]["nodeName"] for order in orders}
        await eventually(lambda: nominations(installation), lambda nominated: nominated == expected)
        pods = await eventually(
            lambda: terminating_stock_pods(installation), lambda pods: len(pods) == len(orders)
        )
        await resume_pods(installation, pods, "stop-for")
        await wait_handed_over(installation, orders)
        await assert_no_eviction(installation)


async def test_a_nomination_ends_when_its_node_becomes_unusable(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        stock = await fill_cluster(
            installation, stock_unit_manifests(SLOW), namespace=installation.namespaces.stock
        )
        order = new_create("mine", stock[0])
        await api_steps.create_unit(installation, order)
        await wait_unit_message(installation, "mine", "are being freed")

        async with make_node_not_ready(installation.admin, stock[0]["status"]["nodeName"]):
            lost = await installation.wait_unit_reason("mine", "PodUnschedulable")
        await wait_unit_message(installation, "mine", "are being freed")
        await resume_pods(
            installation, await eventually(lambda: terminating_stock_pods(installation)), "stop-for"
        )
        await wait_handed_over(installation, [order])

    assert ready_condition(lost)["message"].startswith("0/4 nodes are available")


async def test_a_unit_that_does_not_fit_on_the_node_of_its_stock_shows_the_scheduler_message(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
        await api_steps.create_unit(installation, order, memory="900Ti")
        await installation.wait_gone(
            "gpuunits", order.stock_name, namespace=installation.namespaces.stock
        )
        unit = await wait_unit_message(installation, order.unit_name, "Insufficient memory")
        nominated = await nominations(installation)

    assert ready_condition(unit)["reason"] == "PodUnschedulable"
    assert nominated == {order.unit_name: order.stock["status"]["nodeName"]}


async def terminating_stock_pods(site: IsolatedInstallation) -> list[dict[str, Any]]:
    """Return the terminating pods of consumed stock units."""
    pods = await site.list("pods", namespace=site.namespaces.stock)
    return [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]


async def wait_released(site: IsolatedInstallation, order: CreateUnitSteps) -> dict[str, Any]:
    """Wait until the order's stock unit has no stock claim and is claimable; return the unit."""
    return await eventually(
        lambda: site.get_stock(order.stock_name),
        lambda stock: (
            "annotations" not in stock["metadata"]
            and ready_condition(stock)["reason"] == "StockReady"
        ),
    )


async def test_the_operation_succeeds_with_the_admitted_unit(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
        unit = await api_steps.create_unit(installation, order)
        await installation.wait_unit_reason(order.unit_name, "UnitReady")
        operation = await api_steps.get_operation(installation, order)

    assert operation["status"]["phase"] == "Succeeded"
    assert [created["uid"] for created in operation["status"]["objects"]] == [
        unit["metadata"]["uid"]
    ]
    assert operation["status"]["created"] == 1


async def test_a_unit_without_an_operation_is_deleted(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
        await api_steps.claim_stock(installation, order)
        await installation.create("gpuunits", api_steps.unit_from_stock_manifest(order))

        await installation.wait_gone("gpuunits", order.unit_name)
        await wait_released(installation, order)
        children = await installation.list("deployments")

    assert children == []


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param({}, {"phase": "Failed", "message": "no"}, id="failed"),
        pytest.param({"stock": {"name": "other", "uid": "other"}}, {}, id="other stock"),
        pytest.param(
            {},
            {
                "phase": "Succeeded",
                "objects": [
                    {"kind": "GPUUnit", "namespace": "x", "name": "mine", "uid": "another"}
                ],
            },
            id="another unit",
        ),
    ],
)
async def test_a_unit_that_its_operation_does_not_name_is_deleted_and_its_stock_released(
    installation: IsolatedInstallation, spec: dict[str, object], status: dict[str, object]
) -> None:
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
        await api_steps.create_operation(installation, order, **spec)
        await api_steps.write_operation_status(installation, order, status)
        await api_steps.claim_stock(installation, order)
        await installation.create("gpuunits", api_steps.unit_from_stock_manifest(order))

        await installation.wait_gone("gpuunits", order.unit_name)
        await wait_released(installation, order)


async def test_a_unit_deleted_before_its_start_releases_its_stock(
    installation: IsolatedInstallation,
) -> None:
    order = None
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
    await api_steps.create_unit(installation, order)
    await installation.admin.delete(installation.path("gpuunits", order.unit_name))
    await api_steps.write_operation_status(
        installation,
        order,
        {
            "phase": "Succeeded",
            "objects": [
                {
                    "kind": "GPUUnit",
                    "namespace": installation.namespaces.instance,
                    "name": order.unit_name,
                    "uid": "gone",
                }
            ],
        },
    )
    async with run_controller(installation):
        stock = await wait_released(installation, order)

    assert stock["metadata"]["uid"] == order.stock_uid


async def test_a_unit_whose_stock_was_deleted_reports_it(
    installation: IsolatedInstallation,
) -> None:
    order = None
    async with run_controller(installation):
        order = await new_create_with_stock(installation)
    await api_steps.create_unit(installation, order)
    path = installation.path("gpuunits", order.stock_name, namespace=installation.namespaces.stock)
    await installation.admin.delete(path)
    async with run_controller(installation):
        unit = await installation.wait_unit_reason(order.unit_name, "StockLost")

    assert unit["status"]["phase"] == "Failed"
    assert order.stock_name in unit["status"]["conditions"][0]["message"]


async def test_a_waiting_unit_keeps_its_stock_after_its_operation_was_due_for_deletion(
    installation: IsolatedInstallation,
) -> None:
    mounts = [{"name": "models", "mountPath": "/models"}]
    async with run_controller(installation, operation_retention=Duration(0.5)):
        order = await new_create_with_stock(installation)
        await api_steps.create_unit(installation, order, storageMounts=mounts)
        await installation.wait_unit_reason(order.unit_name, "StorageNotReady")
        await api_steps.wait_operation_sweep(installation, order)
        waiting = await installation.get_stock(order.stock_name)
        await create_storage(installation, storage_manifest("models"))
        unit = await installation.wait_unit_reason(order.unit_name, "UnitReady")
        await installation.wait_gone(
            "operations", order.operation_name, namespace=installation.namespaces.system
        )

    claimed_by = waiting["metadata"].get("annotations", {}).get(CLAIM_OPERATION_ANNOTATION)
    assert claimed_by == order.operation_id
    assert unit["status"]["nodeName"] == order.stock["status"]["nodeName"]
