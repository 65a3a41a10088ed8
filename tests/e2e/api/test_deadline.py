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
async def hasty(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ApiClient]:
    """Run a replica with a short response deadline, on a site without a controller."""
    settings = {**api_settings(installation), "requestTimeout": "4s"}
    async with run_product_process(product_processes.RUNTIME_API, tmp_path, settings) as product:
        yield ApiClient(product.url)


async def ready_stock(site: IsolatedInstallation, name: str) -> dict[str, Any]:
    """Create a stock unit with the status Ready that a controller would write."""
    stock = site.namespaces.stock
    made: dict[str, Any] = await site.create("gpuunits", unit_manifest(name), namespace=stock)
    path = site.path("gpuunits", f"{name}/status", namespace=stock)
    await site.admin.patch(path, {"status": {"phase": "Ready"}})
    return made


async def reopen(site: IsolatedInstallation, order: dict[str, Any], stock: dict[str, Any]) -> None:
    """Set the operation of a creation back to unfinished, and name this stock unit in it."""
    path = site.path(
        "operations", names.operation_name(order["operationID"]), namespace=site.namespaces.system
    )
    meta = stock["metadata"]
    await site.admin.patch(path, {"spec": {"stock": {"name": meta["name"], "uid": meta["uid"]}}})
    await site.admin.patch(f"{path}/status", {"status": None})


async def test_a_creation_that_is_unfinished_at_the_deadline_is_answered_with_its_job(
    installation: IsolatedInstallation, hasty: ApiClient
) -> None:
    await ready_stock(installation, "one")
    order = create_unit_request("g1.1")
    made = await eventually(  # a slow machine does not create it within one request
        lambda: hasty.post(UNITS, order), lambda seen: seen.status in (200, 201)
    )
    stray = made.data
    await reopen(installation, order, await ready_stock(installation, "two"))
    late = await hasty.post(UNITS, order)

    assert late.status == 202
    assert late.headers["Location"] == f"{JOBS}/{order['operationID']}"
    assert (late.data["type"], late.data["status"]) == ("create_gpu_unit", "pending")

    await installation.admin.delete(installation.path("gpuunits", order["name"]))
    done = await eventually(
        lambda: hasty.get(late.headers["Location"]),
        lambda job: job.data["status"] == "succeeded",
    )
    replay = await hasty.post(UNITS, order)
    assert (replay.status, replay.data["sourceStockName"]) == (200, "two")
    assert replay.data["uid"] == done.data["objects"][0]["uid"] != stray["uid"]


async def test_a_quota_that_refuses_a_unit_fails_the_creation_and_frees_its_stock(
    product: RunningProduct,
) -> None:
    site, spec = product.installation, await product.create_ready_stock(1)
    order = create_unit_request(spec)
    quota = await create_effective_quota(site.admin, site.namespaces.instance, 0)
    try:
        refused = await product.api.post(UNITS, order)
    finally:
        await site.admin.delete(quota)

    assert refused.status_and_code == (409, "conflict")
    assert refused.error["message"].startswith("exceeded quota")
    job = (await product.api.get(f"{JOBS}/{order['operationID']}")).data
    assert (job["status"], job["error"][:24]) == ("failed", "conflict: exceeded quota")
    await product.wait_ready_stock(spec, 1)
    again = await eventually(
        lambda: product.replica.post(UNITS, order), lambda answer: answer.status != 409
    )
    assert again.status == 201
