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
    installation, spec, pool = product.installation, "g1.1", f"{POOLS}/warm"
    await eventually(lambda: has_no_gpu_pods(installation.admin), timeout_seconds=120)
    settings = {"memory": "1Gi", "gpu": 1, "replicas": TOTAL_GPUS}
    request = {"operationID": new_name("pool"), "name": "warm", "specName": spec, **settings}
    await product.api.post(POOLS, request)
    stock = await product.wait_ready_stock(spec, TOTAL_GPUS)
    nodes = {unit["name"]: unit["nodeName"] for unit in stock}
    for number in range(WAITING_PODS):
        await installation.create("pods", pod_manifest(f"stranger-{number}", gpus=1))
    await eventually(
        lambda: count_unschedulable_pods(installation), lambda count: count == WAITING_PODS
    )

    requests = [create_unit_request(spec) for _ in range(CALLERS)]
    callers = [product.api, product.replica] * (CALLERS // 2)
    await asyncio.gather(*map(create, callers, requests))
    units = await asyncio.gather(*(ready(product, request["name"]) for request in requests))

    assert all(unit["phase"] == "Ready" for unit in units)
    nodes_by_stock = {unit["sourceStockName"]: unit["nodeName"] for unit in units}
    assert len(nodes_by_stock) == CALLERS
    assert nodes_by_stock == {name: nodes[name] for name in nodes_by_stock}
    await eventually(lambda: unclaimed(product, spec), lambda units: len(units) == TOTAL_GPUS)
    assert len(await product.wait_ready_stock(spec, TOTAL_GPUS - CALLERS)) == TOTAL_GPUS - CALLERS
    assert await scheduled_waiting_pods(installation) == []
    assert await evictions(installation) == []

    for number in range(WAITING_PODS):
        await installation.admin.delete(installation.path("pods", f"stranger-{number}"))
    deletions = await asyncio.gather(
        *(product.api.delete(f"{UNITS}/{request['name']}") for request in requests)
    )
    assert [response.status for response in deletions] == [204] * CALLERS
    await product.wait_ready_stock(spec, TOTAL_GPUS)
    ready_pool = await eventually(
        lambda: product.api.get(pool), lambda response: response.data["phase"] == "Ready"
    )
    assert (ready_pool.data["available"], ready_pool.data["allocated"]) == (TOTAL_GPUS, CALLERS)
    assert (await product.api.delete(pool)).status == 204
    await eventually(lambda: has_no_gpu_pods(installation.admin), timeout_seconds=120)


async def create(api: ApiClient, request: dict[str, Any]) -> None:
    """Request a unit until it exists; repeat the request when a busy server responds too late."""
    await eventually(
        lambda: api.post(UNITS, request),
        lambda response: response.status in (200, 201),
        timeout_seconds=120,
    )


async def ready(product: RunningProduct, name: str) -> dict[str, Any]:
    unit: dict[str, Any] = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    return unit


async def unclaimed(product: RunningProduct, spec: str) -> list[dict[str, Any]]:
    """List the unclaimed stock units of the pool, ready or not."""
    listed = (await product.api.get(f"{STOCK}?specName={spec}&limit=500")).data
    return [unit for unit in listed if "claimedBy" not in unit]
