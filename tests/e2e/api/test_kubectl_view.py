"""One day of an operator and a caller, with curl and kubectl, as in the README."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import JOBS, POOLS, STOCK, UNITS
from hack.cluster.control_plane import ControlPlane
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.cluster.running_product import RunningProduct, create_unit_request, new_name
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually

AsKubectl = Callable[..., Awaitable[str]]

HEALTH = "/api/v1/health"


@pytest.fixture
def kubectl(installed_control_plane: ControlPlane, tmp_path: Path) -> AsKubectl:
    return partial(admin_kubectl(installed_control_plane).run, f"--cache-dir={tmp_path}")


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


async def test_objects_created_over_http_are_shown_by_kubectl(
    product: RunningProduct, kubectl: AsKubectl
) -> None:
    names = product.installation.namespaces
    spec = await product.create_ready_stock(1, memory="1Gi", gpu=1)
    ports = {"ports": [{"name": "web", "port": 8888}]}
    order = create_unit_request(spec, name="trainer", template=ports)
    made = (await product.api.post(UNITS, order)).data
    unit = (await product.api.get(f"{UNITS}/trainer?wait=Ready")).data

    wide = table(await kubectl("get", "gpuunits", "-n", names.instance, "-o", "wide"))
    columns = ["SPEC", "PHASE", "REASON", "ACCESS", "GPU", "MEMORY", "NODE", "SOURCE", "AGE"]
    assert wide[0] == ["NAME", *columns]
    shown = [unit["accessURL"], "1", "1Gi", unit["nodeName"], made["sourceStockName"]]
    assert wide[1][:-1] == ["trainer", spec, "Ready", "UnitReady", *shown]

    operations = table(await kubectl("get", "operations", "-n", names.system))
    assert operations[0] == ["NAME", "OPERATION", "TYPE", "PHASE", "CREATED", "AGE"]
    (mine,) = [row for row in operations if row[1] == order["operationID"]]
    assert mine[2:5] == ["CreateGPUUnit", "Succeeded", "1"]

    described = await kubectl("describe", "gpuunit", "trainer", "-n", names.instance)
    assert "Ready" in described
    assert order["operationID"] in described
    await product.api.delete(f"{UNITS}/trainer")


async def test_a_pool_that_was_made_over_http_is_scaled_with_kubectl(
    product: RunningProduct, kubectl: AsKubectl
) -> None:
    stock = product.installation.namespaces.stock
    pool = {"operationID": new_name("pool"), "name": "warm", "specName": new_name("spec")}
    await product.api.post(POOLS, {**pool, "memory": "64Mi", "replicas": 1})
    await product.wait_ready_stock(pool["specName"], 1)
    order = create_unit_request(pool["specName"])
    assert (await product.api.post(UNITS, order)).status == 201
    await kubectl("scale", "stockpool/warm", "--replicas=2", "-n", stock)
    await product.wait_ready_stock(pool["specName"], 2)

    async def row() -> list[str]:
        shown = table(await kubectl("get", "sp", "warm", "-n", stock))
        assert shown[0] == ["NAME", "SPEC", "DESIRED", "AVAILABLE", "ALLOCATED", "PHASE", "AGE"]
        return shown[1]

    await eventually(row, lambda seen: seen[2:6] == ["2", "2", "1", "Ready"])
    assert (await product.api.get(f"{POOLS}/warm")).data["replicas"] == 2


async def test_health_counts_nodes_and_units(product: RunningProduct) -> None:
    await product.create_ready_stock(2)
    await product.create_ready_unit()

    async def look() -> tuple[dict[str, Any], int, int]:
        """Return the API's health answer and the numbers of listed objects.

        Consumed stock and objects that other tests left are still being deleted.
        """
        stock, units = await listed(product.api, STOCK), await listed(product.api, UNITS)
        return (await product.api.get(HEALTH)).data, len(stock.data), len(units.data)

    told, _, _ = await eventually(
        look,
        lambda seen: (
            sum(seen[0]["stockUnitCount"].values()) == seen[1]
            and seen[0]["activeUnitCount"].get("Ready") == seen[2]
            and seen[0]["ageSeconds"] <= 15
        ),
    )
    assert told["kubernetesConnected"] is True
    assert (told["nodeCount"], told["readyNodeCount"]) == (4, 4)
    assert (told["totalGPUCapacity"], told["totalGPUAllocatable"]) == (32, 32)
    assert told["gpuProducts"] == ["NVIDIA-H100-80GB-HBM3"]


async def listed(api: ApiClient, path: str) -> ApiResponse:
    return await api.get(f"{path}?limit=500")


async def test_the_progress_of_a_seed_is_seen_with_kubectl(
    product: RunningProduct, kubectl: AsKubectl
) -> None:
    seed = {
        "operationID": new_name("seed"),
        "specName": new_name("spec"),
        "memory": "64Mi",
        "replicas": 100,
    }
    answer = await product.api.post(STOCK, seed)
    assert answer.status == 202

    async def row() -> list[str]:
        shown = table(
            await kubectl("get", "operations", "-n", product.installation.namespaces.system)
        )
        return next(row for row in shown if row[1] == seed["operationID"])

    begun = await row()
    assert begun[2] == "SeedStockUnits"
    done = await eventually(row, lambda seen: "Succeeded" in seen)
    assert done[3:5] == ["Succeeded", "100"]
    job = (await product.api.get(f"{JOBS}/{seed['operationID']}")).data
    assert (job["created"], job["requested"]) == (100, 100)
