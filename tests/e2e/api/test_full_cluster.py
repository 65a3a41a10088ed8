"""A full cluster: a pool has all GPUs, units are queued, and thirty callers request a machine."""

import asyncio
from typing import Any

from apiserver.http.paths import POOLS, STOCK, UNITS
from tests.support.builders.full_cluster import (
    TOTAL_GPUS,
    WAITING_PODS,
    count_unschedulable_pods,
    evictions,
    has_no_gpu_pods,
    scheduled_waiting_pods,
)
from tests.support.builders.pods import pod_manifest
from tests.support.cluster.running_product import RunningProduct, create_unit_request, new_name
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually

CALLERS = 30


async def test_thirty_creates_get_the_gpus_that_they_claimed_and_the_pool_refills(
    product: RunningProduct,
) -> None:
    site, spec, pool = product.installation, "g1.1", f"{POOLS}/warm"
    await eventually(lambda: has_no_gpu_pods(site.admin), timeout_seconds=120)
    asked = {"name": "warm", "specName": spec, "memory": "1Gi", "gpu": 1, "replicas": TOTAL_GPUS}
    await product.api.post(POOLS, {"operationID": new_name("pool"), **asked})
    stock = await product.wait_ready_stock(spec, TOTAL_GPUS)
    nodes = {unit["name"]: unit["nodeName"] for unit in stock}
    for number in range(WAITING_PODS):
        await site.create("pods", pod_manifest(f"stranger-{number}", gpus=1))
    await eventually(lambda: count_unschedulable_pods(site), lambda count: count == WAITING_PODS)

    orders = [create_unit_request(spec) for _ in range(CALLERS)]
    callers = [product.api, product.replica] * (CALLERS // 2)
    await asyncio.gather(*map(create, callers, orders))
    units = await asyncio.gather(*(ready(product, order["name"]) for order in orders))

    assert all(unit["phase"] == "Ready" for unit in units)
    places = {unit["sourceStockName"]: unit["nodeName"] for unit in units}
    assert len(places) == CALLERS
    assert places == {name: nodes[name] for name in places}
    await eventually(lambda: unclaimed(product, spec), lambda found: len(found) == TOTAL_GPUS)
    assert len(await product.wait_ready_stock(spec, TOTAL_GPUS - CALLERS)) == TOTAL_GPUS - CALLERS
    assert await scheduled_waiting_pods(site) == []
    assert await evictions(site) == []

    for number in range(WAITING_PODS):
        await site.admin.delete(site.path("pods", f"stranger-{number}"))
    gone = await asyncio.gather(*(product.api.delete(f"{UNITS}/{o['name']}") for o in orders))
    assert [answer.status for answer in gone] == [204] * CALLERS
    await product.wait_ready_stock(spec, TOTAL_GPUS)
    full = await eventually(
        lambda: product.api.get(pool), lambda answer: answer.data["phase"] == "Ready"
    )
    assert (full.data["available"], full.data["allocated"]) == (TOTAL_GPUS, CALLERS)
    assert (await product.api.delete(pool)).status == 204
    await eventually(lambda: has_no_gpu_pods(site.admin), timeout_seconds=120)


async def create(caller: ApiClient, order: dict[str, Any]) -> None:
    """Request a unit until it exists; repeat the request when a busy server answers too late."""
    await eventually(
        lambda: caller.post(UNITS, order),
        lambda answer: answer.status in (200, 201),
        timeout_seconds=120,
    )


async def ready(product: RunningProduct, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    return found


async def unclaimed(product: RunningProduct, spec: str) -> list[dict[str, Any]]:
    """List the unclaimed stock units of the pool, ready or not."""
    listed = (await product.api.get(f"{STOCK}?specName={spec}&limit=500")).data
    return [unit for unit in listed if "claimedBy" not in unit]
