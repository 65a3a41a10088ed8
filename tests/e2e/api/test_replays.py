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

TOGETHER = 20


async def test_a_repeated_create_returns_the_same_unit_on_every_replica(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    order = create_unit_request(spec)
    first = await product.api.post(UNITS, order)
    again = await product.api.post(UNITS, order)
    elsewhere = await product.replica.post(UNITS, order)

    assert [each.status for each in (first, again, elsewhere)] == [201, 200, 200]
    assert {each.data["uid"] for each in (first, again, elsewhere)} == {first.data["uid"]}
    assert again.headers["Location"] == f"{UNITS}/{order['name']}"
    await product.wait_ready_stock(spec, 1)


async def test_defaults_that_are_written_out_are_the_same_request(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    order = create_unit_request(spec)
    first = await product.api.post(UNITS, order)
    said = {
        "namespace": product.installation.namespaces.instance,
        "stockNamespace": product.installation.namespaces.stock,
        "labels": {},
    }
    again = await product.replica.post(UNITS, {**order, **said})

    assert (again.status, again.data["uid"]) == (200, first.data["uid"])


async def test_another_request_under_the_same_operation_is_refused(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(2)
    order = create_unit_request(spec)
    await product.api.post(UNITS, order)
    for change in ({"image": "example/app:2"}, {"name": new_name("unit")}, {"labels": {"a": "b"}}):
        answer = await product.replica.post(UNITS, {**order, **change})
        assert answer.status_and_code == (409, "operation_conflict")
    await product.wait_ready_stock(spec, 1)


async def test_after_its_unit_is_deleted_an_operation_consumes_nothing(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(2)
    order = create_unit_request(spec)
    made = (await product.api.post(UNITS, order)).data
    await product.api.get(f"{UNITS}/{order['name']}?wait=Ready")
    await product.api.delete(f"{UNITS}/{order['name']}")
    await product.installation.wait_gone("gpuunits", order["name"])
    answer = await product.replica.post(UNITS, order)

    assert answer.status == 200
    assert answer.data == {
        "name": order["name"],
        "namespace": product.installation.namespaces.instance,
        "uid": made["uid"],
        "operationID": order["operationID"],
        "deleted": True,
    }
    await product.wait_ready_stock(spec, 1)


async def test_a_namesake_of_a_deleted_unit_is_not_its_unit(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(2)
    order = create_unit_request(spec)
    first = (await product.api.post(UNITS, order)).data
    await product.api.get(f"{UNITS}/{order['name']}?wait=Ready")
    await product.api.delete(f"{UNITS}/{order['name']}")
    await product.installation.wait_gone("gpuunits", order["name"])
    second = await product.api.post(UNITS, {**order, "operationID": new_name("create")})
    assert second.status == 201
    answer = await product.api.post(UNITS, order)

    assert (answer.status, answer.data["deleted"]) == (200, True)
    assert answer.data["uid"] == first["uid"] != second.data["uid"]


async def test_a_creation_without_stock_succeeds_once_there_is_some(
    product: RunningProduct,
) -> None:
    spec = new_name("spec")
    order = create_unit_request(spec)
    refused = await product.api.post(UNITS, order)
    assert refused.status_and_code == (409, "insufficient_capacity")

    await product.create_ready_stock(1, spec)
    assert (await product.replica.post(UNITS, order)).status == 201


async def test_one_of_many_concurrent_creates_of_an_operation_gets_201(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(3)
    order = create_unit_request(spec)
    callers = [product.api, product.replica] * (TOGETHER // 2)
    answers = await asyncio.gather(*(caller.post(UNITS, order) for caller in callers))

    assert sorted(each.status for each in answers) == [200] * (TOGETHER - 1) + [201]
    assert len({each.data["uid"] for each in answers}) == 1
    await product.api.get(f"{UNITS}/{order['name']}?wait=Ready")
    await product.wait_ready_stock(spec, 2)


async def test_one_of_many_concurrent_creates_of_a_name_succeeds(product: RunningProduct) -> None:
    spec, name = await product.create_ready_stock(6), new_name("unit")
    callers = [product.api, product.replica] * 3
    answers = await asyncio.gather(
        *(caller.post(UNITS, create_unit_request(spec, name=name)) for caller in callers)
    )

    assert sorted(each.status for each in answers) == [201] + [409] * 5
    refusals = {each.status_and_code for each in answers if each.status == 409}
    assert refusals == {(409, "already_exists")}
    await product.wait_ready_stock(spec, 5)


async def test_as_many_as_there_is_stock_for_get_a_unit(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(10)
    orders = [create_unit_request(spec) for _ in range(12)]
    callers = [product.api, product.replica] * 6
    answers = await asyncio.gather(
        *(caller.post(UNITS, order) for caller, order in zip(callers, orders, strict=True))
    )

    made = [each for each in answers if each.status == 201]
    assert len(made) == 10
    assert len({each.data["sourceStockName"] for each in made}) == 10
    refused = {each.status_and_code for each in answers if each.status != 201}
    assert refused == {(409, "insufficient_capacity")}


async def test_a_seed_is_new_once_among_many(product: RunningProduct) -> None:
    spec = new_name("spec")
    seed = {"operationID": new_name("seed"), "specName": spec, "memory": "64Mi", "replicas": 3}
    callers = [product.api, product.replica] * 5
    answers = await asyncio.gather(*(caller.post(STOCK, seed) for caller in callers))

    assert sorted(each.status for each in answers) == [200] * 9 + [202]
    await product.wait_ready_stock(spec, 3)


async def test_a_failed_job_is_begun_again_by_the_same_request(product: RunningProduct) -> None:
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
    ) as doomed:
        accepted = await ApiClient(doomed.url).post(STOCK, seed)
        await doomed.process.kill()

    assert (accepted.status, accepted.data["status"]) == (202, "pending")
    job = await eventually(
        lambda: product.api.get(accepted.headers["Location"]),
        lambda seen: seen.data["status"] == "succeeded",
    )
    stock = (await product.api.get(f"{STOCK}?specName={spec}")).data
    assert {made["uid"] for made in job.data["objects"]} == {unit["uid"] for unit in stock}
    assert len(stock) == 40
