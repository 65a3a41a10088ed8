"""Idempotent operations: each takes effect once, at any number of repeats and on any replica."""

import asyncio
from pathlib import Path

from apiserver.http.paths import JOBS, POOLS, STOCK, UNITS
from hack.local import product_processes
from tests.support.cluster.product_processes import run_product_process
from tests.support.cluster.running_product import (
    RunningProduct,
    api_settings,
    create_unit_request,
    new_name,
)
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually

CONCURRENT_CREATES = 20


async def test_a_repeated_create_returns_the_same_unit_on_every_replica(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    request = create_unit_request(spec)
    first = await product.api.post(UNITS, request)
    second = await product.api.post(UNITS, request)
    third = await product.replica.post(UNITS, request)

    assert [response.status for response in (first, second, third)] == [201, 200, 200]
    assert {response.data["uid"] for response in (first, second, third)} == {first.data["uid"]}
    assert second.headers["Location"] == f"{UNITS}/{request['name']}"
    await product.wait_ready_stock(spec, 1)


async def test_explicit_defaults_are_the_same_request(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    request = create_unit_request(spec)
    first = await product.api.post(UNITS, request)
    defaults = {
        "namespace": product.installation.namespaces.instance,
        "stockNamespace": product.installation.namespaces.stock,
        "labels": {},
    }
    second = await product.replica.post(UNITS, {**request, **defaults})

    assert (second.status, second.data["uid"]) == (200, first.data["uid"])


async def test_a_different_request_with_the_same_operation_id_is_refused(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    request = create_unit_request(spec)
    await product.api.post(UNITS, request)
    for change in ({"image": "example/app:2"}, {"name": new_name("unit")}, {"labels": {"a": "b"}}):
        response = await product.replica.post(UNITS, {**request, **change})
        assert response.status_and_code == (409, "operation_conflict")
    await product.wait_ready_stock(spec, 1)


async def test_a_replay_after_the_deletion_of_the_unit_consumes_no_stock(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    request = create_unit_request(spec)
    created = (await product.api.post(UNITS, request)).data
    await product.api.get(f"{UNITS}/{request['name']}?wait=Ready")
    await product.api.delete(f"{UNITS}/{request['name']}")
    await product.installation.wait_gone("gpuunits", request["name"])
    response = await product.replica.post(UNITS, request)

    assert response.status == 200
    assert response.data == {
        "name": request["name"],
        "namespace": product.installation.namespaces.instance,
        "uid": created["uid"],
        "operationID": request["operationID"],
        "deleted": True,
    }
    await product.wait_ready_stock(spec, 1)


async def test_a_replay_does_not_return_a_later_unit_of_the_same_name(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    request = create_unit_request(spec)
    first = (await product.api.post(UNITS, request)).data
    await product.api.get(f"{UNITS}/{request['name']}?wait=Ready")
    await product.api.delete(f"{UNITS}/{request['name']}")
    await product.installation.wait_gone("gpuunits", request["name"])
    second = await product.api.post(UNITS, {**request, "operationID": new_name("create")})
    assert second.status == 201
    response = await product.api.post(UNITS, request)

    assert (response.status, response.data["deleted"]) == (200, True)
    assert response.data["uid"] == first["uid"] != second.data["uid"]


async def test_a_create_without_stock_succeeds_once_stock_exists(
    product: RunningProduct,
) -> None:
    spec = new_name("spec")
    request = create_unit_request(spec)
    refused = await product.api.post(UNITS, request)
    assert refused.status_and_code == (409, "insufficient_capacity")

    await product.create_ready_stock(1, spec)
    assert (await product.replica.post(UNITS, request)).status == 201


async def test_one_of_many_concurrent_creates_of_an_operation_gets_201(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(3)
    request = create_unit_request(spec)
    callers = [product.api, product.replica] * (CONCURRENT_CREATES // 2)
    responses = await asyncio.gather(*(caller.post(UNITS, request) for caller in callers))

    assert sorted(response.status for response in responses) == [200] * (CONCURRENT_CREATES - 1) + [
        201
    ]
    assert len({response.data["uid"] for response in responses}) == 1
    await product.api.get(f"{UNITS}/{request['name']}?wait=Ready")
    await product.wait_ready_stock(spec, 2)


async def test_one_of_many_concurrent_creates_of_a_name_succeeds(product: RunningProduct) -> None:
    spec, name = await product.create_ready_stock(6), new_name("unit")
    callers = [product.api, product.replica] * 3
    responses = await asyncio.gather(
        *(caller.post(UNITS, create_unit_request(spec, name=name)) for caller in callers)
    )

    assert sorted(response.status for response in responses) == [201] + [409] * 5
    refusals = {response.status_and_code for response in responses if response.status == 409}
    assert refusals == {(409, "already_exists")}
    await product.wait_ready_stock(spec, 5)


async def test_concurrent_creates_get_as_many_units_as_there_is_stock(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(10)
    requests = [create_unit_request(spec) for _ in range(12)]
    callers = [product.api, product.replica] * 6
    responses = await asyncio.gather(
        *(caller.post(UNITS, request) for caller, request in zip(callers, requests, strict=True))
    )

    created = [response for response in responses if response.status == 201]
    assert len(created) == 10
    assert len({response.data["sourceStockName"] for response in created}) == 10
    refused = {response.status_and_code for response in responses if response.status != 201}
    assert refused == {(409, "insufficient_capacity")}


async def test_one_of_many_concurrent_seeds_of_an_operation_is_new(product: RunningProduct) -> None:
    spec = new_name("spec")
    seed = {"operationID": new_name("seed"), "specName": spec, "memory": "64Mi", "replicas": 3}
    callers = [product.api, product.replica] * 5
    responses = await asyncio.gather(*(caller.post(STOCK, seed) for caller in callers))

    assert sorted(response.status for response in responses) == [200] * 9 + [202]
    await product.wait_ready_stock(spec, 3)


async def test_a_failed_job_is_restarted_by_the_same_request(product: RunningProduct) -> None:
    name, spec = new_name("pool"), new_name("spec")
    pool = {"name": name, "specName": spec, "memory": "64Mi", "replicas": 0}
    first = {**pool, "operationID": new_name("pool")}
    second = {**pool, "operationID": new_name("pool")}
    assert (await product.api.post(POOLS, first)).status == 201
    assert (await product.api.post(POOLS, second)).status_and_code == (409, "already_exists")
    job = (await product.api.get(f"{JOBS}/{second['operationID']}")).data
    assert (job["type"], job["status"]) == ("create_stock_pool", "failed")

    await product.api.delete(f"{POOLS}/{name}")
    await product.installation.wait_gone(
        "stockpools", name, namespace=product.installation.namespaces.stock
    )
    assert (await product.replica.post(POOLS, second)).status == 201


async def test_a_seed_accepted_by_a_killed_replica_is_finished_by_another_replica(
    product: RunningProduct, tmp_path: Path
) -> None:
    spec = new_name("spec")
    seed = {"operationID": new_name("seed"), "specName": spec, "memory": "64Mi", "replicas": 40}
    async with run_product_process(
        product_processes.RUNTIME_API, tmp_path, api_settings(product.installation)
    ) as killed_replica:
        accepted = await ApiClient(killed_replica.url).post(STOCK, seed)
        await killed_replica.process.kill()

    assert (accepted.status, accepted.data["status"]) == (202, "pending")
    job = await eventually(
        lambda: product.api.get(accepted.headers["Location"]),
        lambda response: response.data["status"] == "succeeded",
    )
    stock = (await product.api.get(f"{STOCK}?specName={spec}")).data
    assert {item["uid"] for item in job.data["objects"]} == {unit["uid"] for unit in stock}
    assert len(stock) == 40
