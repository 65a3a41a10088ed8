"""From stock to a user's unit on the real scheduler: the GPU goes to the unit that claimed it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from shared.config.duration import Duration
from shared.v1alpha1.wellknown import CLAIM_OPERATION
from tests.support.builders import api_steps
from tests.support.builders.api_steps import Order, an_order, one_order
from tests.support.builders.gpu_storages import a_storage, create
from tests.support.builders.paused_pods import HELD, go_on
from tests.support.builders.simulated_units import unit_saying
from tests.support.cluster.full_cluster import (
    fill,
    nobody_was_harmed,
    nodes_of,
    nominations,
    ready_units,
    stock_units,
)
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, ready_of
from tests.support.cluster.node_outages import lost_node
from tests.support.wait.eventually import eventually

HANDOFFS = 30
SLOW = {"sim.local/stop": "late", "sim.local/stop-for": HELD}


async def all_handed_over(site: Site, orders: Sequence[Order]) -> None:
    """Every unit is ready on the node of the stock that it claimed, and the stock is gone."""
    count = len(orders)
    units = await eventually(lambda: ready_units(site), lambda found: len(found) == count)
    assert nodes_of(units) == {order.unit: order.stock["status"]["nodeName"] for order in orders}
    for order in orders:
        await site.gone("gpuunits", order.stock_name, namespace=site.namespaces.stock)


async def test_thirty_units_get_the_gpus_that_they_claimed(site: Site) -> None:
    async with controlled(site):
        stock = await fill(site, stock_units(), namespace=site.namespaces.stock)
        orders = [an_order(f"u{number}", each) for number, each in enumerate(stock[:HANDOFFS])]

        await asyncio.gather(*(api_steps.place(site, order) for order in orders))

        await all_handed_over(site, orders)
        await nobody_was_harmed(site)


async def test_a_place_that_is_freed_late_is_kept_all_the_same(site: Site) -> None:
    async with controlled(site):
        stock = await fill(site, stock_units(SLOW), namespace=site.namespaces.stock)
        orders = [an_order(f"u{number}", each) for number, each in enumerate(stock[:8])]

        await asyncio.gather(*(api_steps.place(site, order) for order in orders))

        await eventually(
            lambda: site.unit(orders[0].unit),
            lambda unit: "is being freed" in ready_of(unit).get("message", ""),
        )
        going = await eventually(lambda: going_stock(site), lambda pods: len(pods) == len(orders))
        await go_on(site, going, "stop-for")
        await all_handed_over(site, orders)
        await nobody_was_harmed(site)


async def test_a_unit_that_asks_for_more_than_its_stock_gets_the_gpu_all_the_same(
    site: Site,
) -> None:
    default = {"type": "Container", "defaultRequest": {"cpu": "100m"}}
    await site.create("limitranges", {"metadata": {"name": "cpu"}, "spec": {"limits": [default]}})
    async with controlled(site):
        stock = await fill(site, stock_units(SLOW), namespace=site.namespaces.stock)
        orders = [an_order(f"u{number}", each) for number, each in enumerate(stock[:4])]

        await asyncio.gather(*(api_steps.place(site, order) for order in orders))

        kept = {order.unit: order.stock["status"]["nodeName"] for order in orders}
        await eventually(lambda: nominations(site), lambda found: found == kept)
        going = await eventually(lambda: going_stock(site), lambda pods: len(pods) == len(orders))
        await go_on(site, going, "stop-for")
        await all_handed_over(site, orders)
        await nobody_was_harmed(site)


async def test_a_place_is_not_promised_for_longer_than_its_node_can_be_used(site: Site) -> None:
    async with controlled(site):
        stock = await fill(site, stock_units(SLOW), namespace=site.namespaces.stock)
        order = an_order("mine", stock[0])
        await api_steps.place(site, order)
        await unit_saying(site, "mine", "is being freed")

        async with lost_node(site.admin, stock[0]["status"]["nodeName"]):
            lost = await site.unit_with("mine", "PodUnschedulable")
        await unit_saying(site, "mine", "is being freed")
        await go_on(site, await eventually(lambda: going_stock(site)), "stop-for")
        await all_handed_over(site, [order])

    assert ready_of(lost)["message"].startswith("0/4 nodes are available")


async def test_a_unit_that_does_not_fit_where_its_stock_was_has_the_schedulers_words(
    site: Site,
) -> None:
    async with controlled(site):
        order = await one_order(site)
        await api_steps.place(site, order, memory="900Ti")
        await site.gone("gpuunits", order.stock_name, namespace=site.namespaces.stock)
        unit = await unit_saying(site, order.unit, "Insufficient memory")
        kept = await nominations(site)

    assert ready_of(unit)["reason"] == "PodUnschedulable"
    assert kept == {order.unit: order.stock["status"]["nodeName"]}


async def going_stock(site: Site) -> list[dict[str, Any]]:
    """The pods of stock that was consumed."""
    pods = await site.list("pods", namespace=site.namespaces.stock)
    return [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]


async def released(site: Site, order: Order) -> dict[str, Any]:
    """The stock of the order once nobody has a claim on it and it can be had."""
    return await eventually(
        lambda: site.stock(order.stock_name),
        lambda stock: (
            "annotations" not in stock["metadata"] and ready_of(stock)["reason"] == "StockReady"
        ),
    )


async def test_the_record_is_closed_with_the_unit_that_was_admitted(site: Site) -> None:
    async with controlled(site):
        order = await one_order(site)
        unit = await api_steps.place(site, order)
        await site.unit_with(order.unit, "UnitReady")
        record = await api_steps.recorded(site, order)

    assert record["status"]["phase"] == "Succeeded"
    assert [made["uid"] for made in record["status"]["objects"]] == [unit["metadata"]["uid"]]
    assert record["status"]["created"] == 1


async def test_a_unit_without_a_record_is_a_stray(site: Site) -> None:
    async with controlled(site):
        order = await one_order(site)
        await api_steps.claim(site, order)
        await site.create("gpuunits", api_steps.the_unit(order))

        await site.gone("gpuunits", order.unit)
        await released(site, order)
        children = await site.list("deployments")

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
async def test_a_unit_that_the_record_does_not_hold_is_a_stray_and_its_stock_is_released(
    site: Site, spec: dict[str, object], status: dict[str, object]
) -> None:
    async with controlled(site):
        order = await one_order(site)
        await api_steps.record(site, order, **spec)
        await api_steps.close(site, order, status)
        await api_steps.claim(site, order)
        await site.create("gpuunits", api_steps.the_unit(order))

        await site.gone("gpuunits", order.unit)
        await released(site, order)


async def test_a_unit_that_is_deleted_before_it_starts_gives_its_stock_back(site: Site) -> None:
    order = None
    async with controlled(site):
        order = await one_order(site)
    await api_steps.place(site, order)
    await site.admin.delete(site.path("gpuunits", order.unit))
    await api_steps.close(
        site,
        order,
        {
            "phase": "Succeeded",
            "objects": [
                {
                    "kind": "GPUUnit",
                    "namespace": site.namespaces.instance,
                    "name": order.unit,
                    "uid": "gone",
                }
            ],
        },
    )
    async with controlled(site):
        stock = await released(site, order)

    assert stock["metadata"]["uid"] == order.stock_uid


async def test_a_unit_whose_stock_was_taken_away_says_so(site: Site) -> None:
    order = None
    async with controlled(site):
        order = await one_order(site)
    await api_steps.place(site, order)
    path = site.path("gpuunits", order.stock_name, namespace=site.namespaces.stock)
    await site.admin.delete(path)
    async with controlled(site):
        unit = await site.unit_with(order.unit, "StockLost")

    assert unit["status"]["phase"] == "Failed"
    assert order.stock_name in unit["status"]["conditions"][0]["message"]


async def test_the_stock_of_a_unit_that_waits_for_longer_than_records_are_kept_stays_its_own(
    site: Site,
) -> None:
    mounts = [{"name": "models", "mountPath": "/models"}]
    async with controlled(site, operation_retention=Duration(0.5)):
        order = await one_order(site)
        await api_steps.place(site, order, storageMounts=mounts)
        await site.unit_with(order.unit, "StorageNotReady")
        await api_steps.sweep_comes_by(site, order)
        waiting = await site.stock(order.stock_name)
        await create(site, a_storage("models"))
        unit = await site.unit_with(order.unit, "UnitReady")
        await site.gone("operations", order.record_name, namespace=site.namespaces.system)

    claimed_by = waiting["metadata"].get("annotations", {}).get(CLAIM_OPERATION)
    assert claimed_by == order.operation_id
    assert unit["status"]["nodeName"] == order.stock["status"]["nodeName"]
