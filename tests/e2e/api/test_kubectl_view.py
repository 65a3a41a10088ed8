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
    request = create_unit_request(spec, name="trainer", template=ports)
    created = (await product.api.post(UNITS, request)).data
    unit = (await product.api.get(f"{UNITS}/trainer?wait=Ready")).data

    wide = table(await kubectl("get", "gpuunits", "-n", names.instance, "-o", "wide"))
    columns = ["SPEC", "PHASE", "REASON", "ACCESS", "GPU", "MEMORY", "NODE", "SOURCE", "AGE"]
    assert wide[0] == ["NAME", *columns]
    cells = [unit["accessURL"], "1", "1Gi", unit["nodeName"], created["sourceStockName"]]
    assert wide[1][:-1] == ["trainer", spec, "Ready", "UnitReady", *cells]

    operations = table(await kubectl("get", "operations", "-n", names.system))
    assert operations[0] == ["NAME", "OPERATION", "TYPE", "PHASE", "CREATED", "AGE"]
    (row,) = [row for row in operations if row[1] == request["operationID"]]
    assert row[2:5] == ["CreateGPUUnit", "Succeeded", "1"]

    described = await kubectl("describe", "gpuunit", "trainer", "-n", names.instance)
    assert "Ready" in described
    assert request["operationID"] in described
    await product.api.delete(f"{UNITS}/trainer")


async def test_a_pool_created_over_http_is_scaled_with_kubectl(
    product: RunningProduct, kubectl: AsKubectl
) -> None:
    stock = product.installation.namespaces.stock
    pool = {"operationID": new_name("pool"), "name": "warm", "specName": new_name("spec")}
    await product.api.post(POOLS, {**pool, "memory": "64Mi", "replicas": 1})
    await product.wait_ready_stock(pool["specName"], 1)
    request = create_unit_request(pool["specName"])
    assert (await product.api.post(UNITS, request)).status == 201
    await kubectl("scale", "stockpool/warm", "--replicas=2", "-n", stock)
    await product.wait_ready_stock(pool["specName"], 2)

    async def row() -> list[str]:
        rows = table(await kubectl("get", "sp", "warm", "-n", stock))
        assert rows[0] == ["NAME", "SPEC", "DESIRED", "AVAILABLE", "ALLOCATED", "PHASE", "AGE"]
        return rows[1]

    await eventually(row, lambda cells: cells[2:6] == ["2", "2", "1", "Ready"])
    assert (await product.api.get(f"{POOLS}/warm")).data["replicas"] == 2


async def test_health_counts_nodes_and_units(product: RunningProduct) -> None:
    await product.create_ready_stock(2)
    await product.create_ready_unit()

    async def observe() -> tuple[dict[str, Any], int, int]:
        """Return the health response of the API and the numbers of listed objects.

        Consumed stock and objects that other tests left are still being deleted.
        """
        stock, units = await listed(product.api, STOCK), await listed(product.api, UNITS)
        return (await product.api.get(HEALTH)).data, len(stock.data), len(units.data)

    health, _, _ = await eventually(
        observe,
        lambda observed: (
            sum(observed[0]["stockUnitCount"].values()) == observed[1]
            and observed[0]["activeUnitCount"].get("Ready") == observed[2]
            and observed[0]["ageSeconds"] <= 15
        ),
    )
    assert health["kubernetesConnected"] is True
    assert (health["nodeCount"], health["readyNodeCount"]) == (4, 4)
    assert (health["totalGPUCapacity"], health["totalGPUAllocatable"]) == (32, 32)
    assert health["gpuProducts"] == ["NVIDIA-H100-80GB-HBM3"]


async def listed(api: ApiClient, path: str) -> ApiResponse:
    return await api.get(f"{path}?limit=500")


async def test_kubectl_shows_the_progress_of_a_seed(
    product: RunningProduct, kubectl: AsKubectl
) -> None:
    seed = {
        "operationID": new_name("seed"),
        "specName": new_name("spec"),
        "memory": "64Mi",
        "replicas": 100,
    }
    response = await product.api.post(STOCK, seed)
    assert response.status == 202

    async def row() -> list[str]:
        rows = table(
            await kubectl("get", "operations", "-n", product.installation.namespaces.system)
        )
        return next(row for row in rows if row[1] == seed["operationID"])

    before = await row()
    assert before[2] == "SeedStockUnits"
    after = await eventually(row, lambda cells: "Succeeded" in cells)
    assert after[3:5] == ["Succeeded", "100"]
    job = (await product.api.get(f"{JOBS}/{seed['operationID']}")).data
    assert (job["created"], job["requested"]) == (100, 100)
