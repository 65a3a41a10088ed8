"""Stock pools over HTTP: created, replaced, scaled and deleted."""

from typing import Any

import pytest

from apiserver.http.paths import JOBS, POOLS, STOCK, UNITS
from tests.support.cluster.running_product import RunningProduct, create_unit_request, new_name
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually


def pool_request(**changes: Any) -> dict[str, Any]:
    return {
        "operationID": new_name("pool"),
        "name": new_name("pool"),
        "specName": new_name("spec"),
        "memory": "64Mi",
        "replicas": 2,
        **changes,
    }


async def wait_settled(api: ApiClient, name: str, phase: str = "Ready") -> dict[str, Any]:
    """Wait until the status of the pool reflects its current spec; return the pool."""

    def is_settled(response: ApiResponse) -> bool:
        pool = response.data
        counts = (pool["currentReplicas"], pool.get("phase"))
        return counts == (pool["replicas"], phase)

    response = await eventually(lambda: api.get(f"{POOLS}/{name}"), is_settled)
    pool: dict[str, Any] = response.data
    return pool


async def test_a_new_pool_fills_itself(product: RunningProduct) -> None:
    request = pool_request()
    response = await product.api.post(POOLS, request)

    assert response.status == 201
    assert response.headers["Location"] == f"{POOLS}/{request['name']}"
    assert response.data["operationID"] == request["operationID"]
    pool = await wait_settled(product.replica, request["name"])
    assert (pool["available"], pool["allocated"], pool["reason"]) == (2, 0, "PoolReady")
    await product.wait_ready_stock(request["specName"], 2)


async def test_a_repeated_pool_create_is_a_replay_on_every_replica(product: RunningProduct) -> None:
    request = pool_request()
    first = await product.api.post(POOLS, request)
    again = await product.replica.post(POOLS, request)

    assert (again.status, again.data["uid"]) == (200, first.data["uid"])
    other = await product.replica.post(POOLS, {**request, "replicas": 3})
    assert other.status_and_code == (409, "operation_conflict")


async def test_a_replay_does_not_recreate_a_deleted_pool(product: RunningProduct) -> None:
    request = pool_request(replicas=0)
    created = (await product.api.post(POOLS, request)).data
    await product.api.delete(f"{POOLS}/{request['name']}")
    await product.installation.wait_gone(
        "stockpools", request["name"], namespace=created["namespace"]
    )
    response = await product.api.post(POOLS, request)

    assert (response.status, response.data["deleted"]) == (200, True)
    assert response.data["uid"] == created["uid"]
    assert (await product.api.get(f"{POOLS}/{request['name']}")).status_and_code == (
        404,
        "not_found",
    )


async def test_a_pool_with_a_taken_name_is_refused(product: RunningProduct) -> None:
    request = pool_request(replicas=0)
    await product.api.post(POOLS, request)
    response = await product.api.post(POOLS, {**request, "operationID": new_name("pool")})

    assert response.status_and_code == (409, "already_exists")
    assert request["name"] in response.error["message"]


async def test_a_pool_replaces_a_consumed_stock_unit(product: RunningProduct) -> None:
    request = pool_request()
    await product.api.post(POOLS, request)
    await product.wait_ready_stock(request["specName"], 2)
    order = create_unit_request(request["specName"])
    assert (await product.api.post(UNITS, order)).status == 201

    await product.api.get(f"{UNITS}/{order['name']}?wait=Ready")
    await product.wait_ready_stock(request["specName"], 2)
    pool = await eventually(
        lambda: product.api.get(f"{POOLS}/{request['name']}"),
        lambda response: response.data.get("allocated") == 1 and response.data["phase"] == "Ready",
    )
    assert pool.data["available"] == 2


async def test_a_pool_is_scaled(product: RunningProduct) -> None:
    request = pool_request(replicas=1)
    await product.api.post(POOLS, request)
    path = f"{POOLS}/{request['name']}"
    for replicas, phase in ((3, "Ready"), (0, "ScaledToZero")):
        response = await product.api.put(path, {"memory": "64Mi", "replicas": replicas})
        assert (response.status, response.data["replicas"]) == (200, replicas)
        pool = await wait_settled(product.api, request["name"], phase)
        assert pool["available"] == replicas
        await product.wait_ready_stock(request["specName"], replicas)


async def test_changed_pool_resources_replace_the_stock(product: RunningProduct) -> None:
    request = pool_request()
    await product.api.post(POOLS, request)
    await product.wait_ready_stock(request["specName"], 2)
    settings = {"memory": "128Mi", "cpu": "1", "replicas": 2}
    response = await product.api.put(f"{POOLS}/{request['name']}", settings)
    assert (response.data["memory"], response.data["cpu"]) == ("128Mi", "1")

    await eventually(
        lambda: product.api.get(f"{STOCK}?specName={request['specName']}&phase=Ready"),
        lambda listed: [unit["memory"] for unit in listed.data] == ["128Mi"] * 2,
    )


async def test_omitted_fields_of_a_pool_replacement_get_their_defaults(
    product: RunningProduct,
) -> None:
    request = pool_request(replicas=0, cpu="1", nodeSelector={"zone": "b"}, maxUnavailable=1)
    await product.api.post(POOLS, request)
    response = await product.api.put(
        f"{POOLS}/{request['name']}", {"memory": "64Mi", "replicas": 0}
    )

    assert not {"cpu", "nodeSelector", "maxUnavailable"} & set(response.data)


async def test_a_pool_replacement_with_a_stale_etag_is_refused(product: RunningProduct) -> None:
    request = pool_request(replicas=1)
    await product.api.post(POOLS, request)
    path = f"{POOLS}/{request['name']}"
    if_match = {"If-Match": (await product.api.get(path)).headers["ETag"]}
    await wait_settled(product.api, request["name"])
    first = await product.api.put(path, {"memory": "64Mi", "replicas": 0}, if_match)
    second = await product.replica.put(path, {"memory": "64Mi", "replicas": 5}, if_match)

    assert first.status == 200
    assert second.status_and_code == (412, "precondition_failed")


async def test_the_deletion_of_a_pool_deletes_its_unclaimed_stock(product: RunningProduct) -> None:
    request = pool_request()
    await product.api.post(POOLS, request)
    await product.wait_ready_stock(request["specName"], 2)
    response = await product.api.delete(f"{POOLS}/{request['name']}")

    assert (response.status, response.body) == (204, "")
    await product.wait_ready_stock(request["specName"], 0)


async def test_a_pool_of_a_catalogued_spec_has_the_resources_of_the_catalogue(
    product: RunningProduct,
) -> None:
    request = pool_request(specName="h1.large", replicas=0)
    refused = await product.api.post(POOLS, request)
    del request["memory"]
    created = await product.api.post(POOLS, request)
    path = f"{POOLS}/{request['name']}"

    assert refused.status_and_code == (409, "conflict")
    assert (created.data["memory"], created.data["gpu"]) == ("64Gi", 2)
    changed = await product.api.put(path, {"replicas": 0, "gpu": 1})
    assert changed.status_and_code == (409, "conflict")
    assert (await product.api.put(path, {"replicas": 0})).data["gpu"] == 2


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"specName": "other"}, ["specName"]),
        ({"replicas": -1}, ["replicas"]),
        ({"memory": None}, ["memory"]),
        ({"nodeSelector": {"a b": "c"}}, ["nodeSelector"]),
        ({"tolerations": [{"operator": "Maybe"}]}, ["tolerations[0].operator"]),
        ({"maxUnavailable": 0}, ["maxUnavailable"]),
    ],
    ids=str,
)
async def test_invalid_pool_settings_are_refused_by_field(
    api: ApiClient, body: dict[str, Any], fields: list[str]
) -> None:
    response = await api.put(f"{POOLS}/any", {"memory": "64Mi", **body})

    assert response.status_and_code == (400, "invalid_request")
    assert list(response.field_errors) == fields


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_absent_pool_is_not_found(api: ApiClient, method: str) -> None:
    body = {"memory": "64Mi"} if method == "PUT" else None

    assert (await api.request(method, f"{POOLS}/absent", body)).status_and_code == (
        404,
        "not_found",
    )


async def test_a_page_of_pools_has_the_remaining_count(product: RunningProduct) -> None:
    for _ in range(3):
        await product.api.post(POOLS, pool_request(replicas=0))
    all_items = (await product.api.get(POOLS)).data
    first = await product.api.get(f"{POOLS}?limit=2")
    second = await product.replica.get(f"{POOLS}?continue={first.meta['continue']}")

    assert first.meta["remaining"] == len(all_items) - 2 == len(second.data)
    assert [pool["name"] for pool in first.data + second.data] == [
        pool["name"] for pool in all_items
    ]


async def test_jobs_are_listed_by_type_and_status(product: RunningProduct) -> None:
    request = pool_request(replicas=0)
    conflicting = {**request, "operationID": new_name("pool")}
    await product.api.post(POOLS, request)
    await product.api.post(POOLS, conflicting)
    await product.create_ready_stock(1)

    async def ids(query: str) -> set[str]:
        listed = (await product.replica.get(f"{JOBS}?limit=500&{query}")).data
        return {job["operationID"] for job in listed}

    succeeded = await ids("type=create_stock_pool&status=succeeded")
    failed = await ids("type=create_stock_pool&status=failed")
    assert request["operationID"] in succeeded - failed
    assert conflicting["operationID"] in failed - succeeded
    assert not await ids("type=seed_stock_units") & (succeeded | failed)
    assert await ids("status=pending") == await ids("status=running") == set()


async def test_jobs_are_listed_in_pages(product: RunningProduct) -> None:
    for _ in range(3):
        await product.api.post(POOLS, pool_request(replicas=0))
    all_items = [job["operationID"] for job in (await product.api.get(JOBS)).data]
    first = await product.api.get(f"{JOBS}?limit=2")
    second = await product.replica.get(f"{JOBS}?continue={first.meta['continue']}")

    assert first.meta["remaining"] == len(all_items) - 2
    assert [job["operationID"] for job in first.data + second.data] == all_items


@pytest.mark.parametrize("query", ["type=bake_bread", "status=Succeeded", "label=a%3Db"])
async def test_an_invalid_query_of_jobs_is_refused(api: ApiClient, query: str) -> None:
    assert (await api.get(f"{JOBS}?{query}")).status_and_code == (400, "invalid_request")


async def test_an_absent_job_is_not_found(api: ApiClient) -> None:
    assert (await api.get(f"{JOBS}/absent")).status_and_code == (404, "not_found")
