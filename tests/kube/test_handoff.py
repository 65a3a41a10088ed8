"""From stock to a user's unit on the real scheduler: the GPU goes to the unit that claimed it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hack.cluster.admin import Admin
from tests.support import played_api
from tests.support.eventually import eventually
from tests.support.our_controller import controlled
from tests.support.played_api import an_order
from tests.support.pods import a_pod
from tests.support.site import Site, a_unit

GPUS = 32
HANDOFFS = 30
IN_LINE = 8


@pytest.fixture
async def full(site: Site) -> AsyncIterator[list[dict[str, Any]]]:
    """Every GPU taken by stock; more stock and strangers' pods wait in line. The ready stock."""
    await eventually(lambda: is_empty(site.admin), seconds=120)
    async with controlled(site):
        for number in range(GPUS):
            await site.create("gpuunits", stock(f"stock-{number}"), namespace=site.namespaces.stock)
        ready = await eventually(lambda: ready_stock(site), lambda found: len(found) == GPUS)
        for number in range(IN_LINE):
            late = stock(f"late-{number}")
            await site.create("gpuunits", late, namespace=site.namespaces.stock)
            await site.create("pods", a_pod(f"stranger-{number}", gpus=1))
        yield ready


def stock(name: str) -> dict[str, Any]:
    return a_unit(name)


async def ready_stock(site: Site) -> list[dict[str, Any]]:
    return await ready_units(site, site.namespaces.stock)


def nodes_of(units: list[dict[str, Any]]) -> dict[str, str]:
    return {unit["metadata"]["name"]: unit["status"]["nodeName"] for unit in units}


async def ready_units(site: Site, namespace: str = "") -> list[dict[str, Any]]:
    listed = await site.list("gpuunits", namespace=namespace)
    return [unit for unit in listed if unit.get("status", {}).get("phase") == "Ready"]


async def is_empty(admin: Admin) -> bool:
    pods = await admin.get("/api/v1/pods")
    return not any("nvidia.com/gpu" in str(pod["spec"]) for pod in pods["items"])


async def strangers_inside(site: Site) -> list[str]:
    pods = await site.list("pods")
    return [
        pod["metadata"]["name"]
        for pod in pods
        if pod["metadata"]["name"].startswith("stranger") and pod["spec"].get("nodeName")
    ]


async def evictions(site: Site) -> list[dict[str, Any]]:
    found = []
    for namespace in site.namespaces.units:
        events = await site.list("events", namespace=namespace)
        found += [event for event in events if event["reason"] in ("Preempted", "Evicted")]
    return found


async def test_thirty_units_get_the_gpus_that_they_claimed(
    site: Site, full: list[dict[str, Any]]
) -> None:
    orders = [an_order(f"unit-{n}", stock) for n, stock in enumerate(full[:HANDOFFS])]

    await asyncio.gather(*(played_api.place(site, order) for order in orders))

    units = await eventually(lambda: ready_units(site), lambda found: len(found) == HANDOFFS)
    assert nodes_of(units) == {order.unit: order.stock["status"]["nodeName"] for order in orders}
    assert await strangers_inside(site) == []
    assert await evictions(site) == []
