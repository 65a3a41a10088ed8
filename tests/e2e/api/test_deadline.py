"""Create operations that cannot finish before the response, or cannot finish at all."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import JOBS, UNITS
from hack.local import product_processes
from shared.v1alpha1 import names
from tests.support.builders.quotas import create_effective_quota
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.cluster.product_processes import run_product_process
from tests.support.cluster.running_product import RunningProduct, api_settings, create_unit_request
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually


@pytest.fixture
async def hasty_api(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ApiClient]:
    """Run a replica with a short response deadline, in an installation without a controller."""
    settings = {**api_settings(installation), "requestTimeout": "4s"}
    async with run_product_process(product_processes.RUNTIME_API, tmp_path, settings) as product:
        yield ApiClient(product.url)


async def ready_stock(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    """Create a stock unit with the status Ready that a controller would write."""
    stock = installation.namespaces.stock
    created: dict[str, Any] = await installation.create(
        "gpuunits", unit_manifest(name), namespace=stock
    )
    path = installation.path("gpuunits", f"{name}/status", namespace=stock)
    await installation.admin.patch(path, {"status": {"phase": "Ready"}})
    return created


async def reopen(
    installation: IsolatedInstallation, request: dict[str, Any], stock: dict[str, Any]
) -> None:
    """Set the operation of a creation back to unfinished, and name this stock unit in it."""
    path = installation.path(
        "operations",
        names.operation_name(request["operationID"]),
        namespace=installation.namespaces.system,
    )
    meta = stock["metadata"]
    await installation.admin.patch(
        path, {"spec": {"stock": {"name": meta["name"], "uid": meta["uid"]}}}
    )
    await installation.admin.patch(f"{path}/status", {"status": None})


async def test_the_response_to_a_create_that_is_unfinished_at_the_deadline_is_its_job(
    installation: IsolatedInstallation, hasty_api: ApiClient
) -> None:
    await ready_stock(installation, "one")
    request = create_unit_request("g1.1")
    created = await eventually(  # a slow machine does not create it within one request
        lambda: hasty_api.post(UNITS, request), lambda response: response.status in (200, 201)
    )
    stray = created.data
    await reopen(installation, request, await ready_stock(installation, "two"))
    unfinished = await hasty_api.post(UNITS, request)

    assert unfinished.status == 202
    assert unfinished.headers["Location"] == f"{JOBS}/{request['operationID']}"
    assert (unfinished.data["type"], unfinished.data["status"]) == ("create_gpu_unit", "pending")

    await installation.admin.delete(installation.path("gpuunits", request["name"]))
    finished = await eventually(
        lambda: hasty_api.get(unfinished.headers["Location"]),
        lambda job: job.data["status"] == "succeeded",
    )
    replay = await hasty_api.post(UNITS, request)
    assert (replay.status, replay.data["sourceStockName"]) == (200, "two")
    assert replay.data["uid"] == finished.data["objects"][0]["uid"] != stray["uid"]


async def test_a_create_that_exceeds_a_quota_fails_and_releases_its_stock(
    product: RunningProduct,
) -> None:
    installation, spec = product.installation, await product.create_ready_stock(1)
    request = create_unit_request(spec)
    quota = await create_effective_quota(installation.admin, installation.namespaces.instance, 0)
    try:
        refused = await product.api.post(UNITS, request)
    finally:
        await installation.admin.delete(quota)

    assert refused.status_and_code == (409, "conflict")
    assert refused.error["message"].startswith("exceeded quota")
    job = (await product.api.get(f"{JOBS}/{request['operationID']}")).data
    assert (job["status"], job["error"][:24]) == ("failed", "conflict: exceeded quota")
    await product.wait_ready_stock(spec, 1)
    again = await eventually(
        lambda: product.replica.post(UNITS, request), lambda response: response.status != 409
    )
    assert again.status == 201
