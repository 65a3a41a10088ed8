"""Stock over HTTP: seeded, listed, counted and deleted; the job reports its progress."""

from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import JOBS, SPECS, STOCK, UNITS
from tests.support.builders import gpu_storages
from tests.support.builders.quotas import create_effective_quota
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.running_product import (
    RunningProduct,
    create_unit_request,
    new_name,
    run_api,
)
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually


def seed_request(**changes: Any) -> dict[str, Any]:
    return {
        "operationID": new_name("seed"),
        "specName": new_name("spec"),
        "memory": "64Mi",
        "replicas": 1,
        **changes,
    }


async def wait_final(api: ApiClient, operation_id: str) -> dict[str, Any]:
    """Wait until the job is final; return it."""
    response = await eventually(
        lambda: api.get(f"{JOBS}/{operation_id}"),
        lambda response: response.data["status"] in ("succeeded", "failed"),
    )
    job: dict[str, Any] = response.data
    return job


async def test_a_seed_is_accepted_with_the_location_of_its_job(api: ApiClient) -> None:
    seed = seed_request(replicas=2)
    response = await api.post(STOCK, seed)

    assert response.status == 202
    assert response.headers["Location"] == f"{JOBS}/{seed['operationID']}"
    assert response.data["type"] == "seed_stock_units"
    assert response.data["status"] in ("pending", "running")
    assert response.data["requested"] == 2


async def test_the_job_of_a_seed_lists_the_created_stock_units(product: RunningProduct) -> None:
    seed = seed_request(replicas=3)
    await product.api.post(STOCK, seed)
    job = await wait_final(product.replica, seed["operationID"])
    stock = (await product.api.get(f"{STOCK}?specName={seed['specName']}")).data

    assert (job["status"], job["requested"], job["created"]) == ("succeeded", 3, 3)
    assert {item["kind"] for item in job["objects"]} == {"GPUUnit"}
    assert {item["uid"] for item in job["objects"]} == {unit["uid"] for unit in stock}


async def test_a_seeded_unit_becomes_ready_and_shows_its_resources(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1, memory="128Mi", gpu=1)
    (unit,) = (await product.api.get(f"{STOCK}?specName={spec}")).data

    assert (unit["lifecycle"], unit["namespace"]) == (
        "stock",
        product.installation.namespaces.stock,
    )
    assert (unit["phase"], unit["reason"]) == ("Ready", "StockReady")
    assert (unit["memory"], unit["gpu"]) == ("128Mi", 1)
    assert unit["nodeName"].startswith("gpu-")
    assert not {"image", "serviceName", "accessURL", "claimedBy"} & set(unit)
    await product.api.delete(f"{STOCK}/{unit['name']}")


async def test_a_repeated_seed_returns_the_same_job(product: RunningProduct) -> None:
    seed = seed_request(replicas=2)
    await product.api.post(STOCK, seed)
    first = await wait_final(product.api, seed["operationID"])
    again = await product.replica.post(STOCK, seed)

    assert again.status == 200
    assert again.data == first
    assert len((await product.api.get(f"{STOCK}?specName={seed['specName']}")).data) == 2


async def test_a_different_seed_with_the_same_operation_id_is_refused(api: ApiClient) -> None:
    seed = seed_request()
    await api.post(STOCK, seed)

    assert (await api.post(STOCK, {**seed, "replicas": 2})).status_and_code == (
        409,
        "operation_conflict",
    )


async def test_a_unit_with_the_operation_id_of_a_seed_is_refused(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    seed = seed_request()
    await product.api.post(STOCK, seed)
    request = create_unit_request(spec, operationID=seed["operationID"])

    assert (await product.api.post(UNITS, request)).status_and_code == (409, "operation_conflict")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("replicas", 0),
        ("replicas", 1001),
        ("replicas", "3"),
        ("memory", "lots"),
        ("memory", "0"),
        ("gpu", -1),
        ("specName", "no spec!"),
        ("operationID", " padded"),
        ("image", "example/app:1"),
        ("template", {}),
        ("access", {}),
        ("color", "red"),
    ],
)
async def test_an_invalid_seed_is_refused_by_field(
    product: RunningProduct, field: str, value: object
) -> None:
    seed = seed_request(**{field: value})
    response = await product.api.post(STOCK, seed)

    assert response.status_and_code == (400, "invalid_request")
    assert list(response.field_errors) == [field]
    assert (await product.api.get(f"{JOBS}/{seed['operationID'].strip()}")).status == 404


async def test_a_seed_of_a_spec_outside_the_catalogue_requires_memory(api: ApiClient) -> None:
    seed = seed_request()
    del seed["memory"]
    response = await api.post(STOCK, seed)

    assert response.status_and_code == (400, "invalid_request")
    assert "memory" in response.field_errors


async def test_the_job_of_a_seed_that_exceeds_a_quota_fails_with_the_reason(
    product: RunningProduct,
) -> None:
    admin = product.installation.admin
    path = await create_effective_quota(admin, product.installation.namespaces.stock, 0)
    try:
        seed = seed_request(replicas=3)
        assert (await product.api.post(STOCK, seed)).status == 202
        job = await wait_final(product.api, seed["operationID"])
    finally:
        await admin.delete(path)

    assert (job["status"], job["requested"], job["created"]) == ("failed", 3, 0)
    assert job["error"].startswith("conflict: exceeded quota")
    assert job["objects"] == []


async def test_stock_is_listed_by_spec_and_phase(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(2)
    await product.create_ready_stock(1)

    listed = (await product.api.get(f"{STOCK}?specName={spec}&phase=Ready")).data
    assert [unit["specName"] for unit in listed] == [spec, spec]
    assert (await product.api.get(f"{STOCK}?specName={spec}&phase=Failed")).data == []


async def test_the_summary_counts_all_stock_on_every_page(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(3)

    def counts_of_spec(response: ApiResponse) -> list[dict[str, Any]]:
        return [count for count in response.meta["summary"] if count["specName"] == spec]

    response = await eventually(  # the counts may be slightly out of date
        lambda: product.api.get(f"{STOCK}?specName={spec}&limit=1"),
        lambda response: (
            counts_of_spec(response) == [{"specName": spec, "phase": "Ready", "count": 3}]
        ),
    )
    assert len(response.data) == 1


async def test_unclaimed_stock_can_be_deleted(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    (unit,) = (await product.api.get(f"{STOCK}?specName={spec}")).data
    response = await product.api.delete(f"{STOCK}/{unit['name']}")

    assert (response.status, response.body) == (204, "")
    await product.installation.wait_gone(
        "gpuunits", unit["name"], namespace=product.installation.namespaces.stock
    )


async def test_a_seed_does_not_recreate_deleted_stock(product: RunningProduct) -> None:
    seed = seed_request()
    await product.api.post(STOCK, seed)
    job = await wait_final(product.api, seed["operationID"])
    name = job["objects"][0]["name"]
    assert (await product.api.delete(f"{STOCK}/{name}")).status == 204
    await product.installation.wait_gone(
        "gpuunits", name, namespace=product.installation.namespaces.stock
    )

    assert (await product.api.post(STOCK, seed)).status == 200
    assert (await product.api.get(f"{STOCK}?specName={seed['specName']}")).data == []


async def test_claimed_stock_cannot_be_deleted(product: RunningProduct) -> None:
    # A unit that waits for its storage has not consumed its stock unit yet.
    storage = new_name("storage")
    await gpu_storages.create_storage(
        product.installation, gpu_storages.simulated_prepare_storage(storage, run_for="1h")
    )
    created = (
        await product.create_unit(storageMounts=[{"name": storage, "mountPath": "/data"}])
    ).data
    stock = created["sourceStockName"]
    response = await product.api.delete(f"{STOCK}/{stock}")

    assert response.status_and_code == (409, "conflict")
    assert stock in response.error["message"]


async def test_absent_stock_is_not_found(api: ApiClient) -> None:
    assert (await api.delete(f"{STOCK}/absent")).status_and_code == (404, "not_found")


async def test_the_catalogue_is_listed_with_the_stock_of_each_spec(
    product: RunningProduct,
) -> None:
    await product.create_ready_stock(2, "h1.small")
    specs = await eventually(  # the counts may be slightly out of date
        lambda: product.api.get(SPECS), lambda response: response.data[1].get("available") == 2
    )
    large, small = specs.data

    assert (large["specName"], large["memory"], large["gpu"]) == ("h1.large", "64Gi", 2)
    assert (large["shmSize"], large["available"], large["capacity"]) == ("8Gi", 0, 16)
    assert (small["specName"], small["description"]) == ("h1.small", "No GPU, for trials.")
    assert (small["stock"], small["available"]) == ({"Ready": 2}, 2)


async def test_a_seed_of_a_catalogued_spec_has_the_resources_of_the_catalogue(
    product: RunningProduct,
) -> None:
    seed = seed_request(specName="h1.large")
    del seed["memory"]
    await product.api.post(STOCK, seed)
    job = await wait_final(product.api, seed["operationID"])
    unit = await product.installation.get_stock(job["objects"][0]["name"])

    assert (unit["spec"]["memory"], unit["spec"]["gpu"]) == ("64Gi", 2)
    assert unit["spec"]["shmSize"] == "8Gi"
    await product.api.delete(f"{STOCK}/{unit['metadata']['name']}")


async def test_a_seed_of_a_catalogued_spec_with_other_resources_is_refused(api: ApiClient) -> None:
    response = await api.post(STOCK, seed_request(specName="h1.large", memory="32Gi"))

    assert response.status_and_code == (409, "conflict")
    assert "64Gi" in response.field_errors["memory"]


async def test_equal_resources_in_another_notation_are_accepted(api: ApiClient) -> None:
    response = await api.post(STOCK, seed_request(specName="h1.small", memory="1024Mi"))

    assert response.status == 202


async def test_a_seed_of_a_thousand_units_responds_at_once_and_shows_its_progress(
    installation: IsolatedInstallation, tmp_path: Path
) -> None:
    """Run without a controller that reconciles the stock units: acceptance is not readiness."""
    seed = seed_request(replicas=1000)
    async with run_api(installation, tmp_path) as product:
        api, counts = ApiClient(product.url), list[int]()
        response = await api.post(STOCK, seed)
        assert (response.status, response.data["created"]) == (202, 0)

        async def progress() -> str:
            job = (await api.get(f"{JOBS}/{seed['operationID']}")).data
            counts.append(job["created"])
            return str(job["status"])

        await eventually(progress, "succeeded".__eq__, timeout_seconds=240)
        assert counts == sorted(counts)
        assert counts[-1] == 1000
        counted = {"specName": seed["specName"], "phase": "Progressing", "count": 1000}
        await eventually(
            lambda: api.get(f"{STOCK}?limit=1"), lambda stock: stock.meta["summary"] == [counted]
        )
