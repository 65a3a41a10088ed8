"""Stock pools over HTTP: created, replaced, scaled and deleted."""

from typing import Any

import pytest

from apiserver.http.paths import JOBS, POOLS, STOCK, UNITS
from tests.support.cluster.running_product import RunningProduct, create_unit_request, new_name
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually


def a_pool(**asked: Any) -> dict[str, Any]:
    return {
        "operationID": new_name("pool"),
        "name": new_name("pool"),
        "specName": new_name("spec"),
        "memory": "64Mi",
        "replicas": 2,
        **asked,
    }


async def at_rest(api: ApiClient, name: str, phase: str = "Ready") -> dict[str, Any]:
    """Wait until the status of the pool reflects its current spec; return the pool."""

    def is_at_rest(answer: ApiResponse) -> bool:
        pool = answer.data
        counts = (pool["currentReplicas"], pool.get("phase"))
        return counts == (pool["replicas"], phase)

    answer = await eventually(lambda: api.get(f"{POOLS}/{name}"), is_at_rest)
    found: dict[str, Any] = answer.data
    return found


async def test_a_pool_is_made_and_fills_itself(product: RunningProduct) -> None:
    asked = a_pool()
    answer = await product.api.post(POOLS, asked)

    assert answer.status == 201
    assert answer.headers["Location"] == f"{POOLS}/{asked['name']}"
    assert answer.data["operationID"] == asked["operationID"]
    pool = await at_rest(product.replica, asked["name"])
    assert (pool["available"], pool["allocated"], pool["reason"]) == (2, 0, "PoolReady")
    await product.wait_ready_stock(asked["specName"], 2)


async def test_a_repeated_pool_create_is_a_replay_on_every_replica(product: RunningProduct) -> None:
    asked = a_pool()
    first = await product.api.post(POOLS, asked)
    again = await product.replica.post(POOLS, asked)

    assert (again.status, again.data["uid"]) == (200, first.data["uid"])
    other = await product.replica.post(POOLS, {**asked, "replicas": 3})
    assert other.status_and_code == (409, "operation_conflict")


async def test_a_replay_does_not_recreate_a_deleted_pool(product: RunningProduct) -> None:
    asked = a_pool(replicas=0)
    made = (await product.api.post(POOLS, asked)).data
    await product.api.delete(f"{POOLS}/{asked['name']}")
    await product.installation.wait_gone("stockpools", asked["name"], namespace=made["namespace"])
    answer = await product.api.post(POOLS, asked)

    assert (answer.status, answer.data["deleted"]) == (200, True)
    assert answer.data["uid"] == made["uid"]
    assert (await product.api.get(f"{POOLS}/{asked['name']}")).status_and_code == (404, "not_found")


async def test_the_name_of_another_pool_is_refused(product: RunningProduct) -> None:
    asked = a_pool(replicas=0)
    await product.api.post(POOLS, asked)
    answer = await product.api.post(POOLS, {**asked, "operationID": new_name("pool")})

    assert answer.status_and_code == (409, "already_exists")
    assert asked["name"] in answer.error["message"]


async def test_a_consumed_unit_is_replaced(product: RunningProduct) -> None:
    asked = a_pool()
    await product.api.post(POOLS, asked)
    await product.wait_ready_stock(asked["specName"], 2)
    order = create_unit_request(asked["specName"])
    assert (await product.api.post(UNITS, order)).status == 201

    await product.api.get(f"{UNITS}/{order['name']}?wait=Ready")
    await product.wait_ready_stock(asked["specName"], 2)
    pool = await eventually(
        lambda: product.api.get(f"{POOLS}/{asked['name']}"),
        lambda answer: answer.data.get("allocated") == 1 and answer.data["phase"] == "Ready",
    )
    assert pool.data["available"] == 2


async def test_a_pool_is_scaled(product: RunningProduct) -> None:
    asked = a_pool(replicas=1)
    await product.api.post(POOLS, asked)
    place = f"{POOLS}/{asked['name']}"
    for replicas, phase in ((3, "Ready"), (0, "ScaledToZero")):
        answer = await product.api.put(place, {"memory": "64Mi", "replicas": replicas})
        assert (answer.status, answer.data["replicas"]) == (200, replicas)
        pool = await at_rest(product.api, asked["name"], phase)
        assert pool["available"] == replicas
        await product.wait_ready_stock(asked["specName"], replicas)


async def test_changed_pool_resources_replace_the_stock(product: RunningProduct) -> None:
    asked = a_pool()
    await product.api.post(POOLS, asked)
    await product.wait_ready_stock(asked["specName"], 2)
    settings = {"memory": "128Mi", "cpu": "1", "replicas": 2}
    answer = await product.api.put(f"{POOLS}/{asked['name']}", settings)
    assert (answer.data["memory"], answer.data["cpu"]) == ("128Mi", "1")

    await eventually(
        lambda: product.api.get(f"{STOCK}?specName={asked['specName']}&phase=Ready"),
        lambda listed: [unit["memory"] for unit in listed.data] == ["128Mi"] * 2,
    )


async def test_omitted_fields_of_a_pool_replacement_get_their_defaults(
    product: RunningProduct,
) -> None:
    asked = a_pool(replicas=0, cpu="1", nodeSelector={"zone": "b"}, maxUnavailable=1)
    await product.api.post(POOLS, asked)
    answer = await product.api.put(f"{POOLS}/{asked['name']}", {"memory": "64Mi", "replicas": 0})

    assert not {"cpu", "nodeSelector", "maxUnavailable"} & set(answer.data)


async def test_a_pool_replacement_with_a_stale_etag_is_refused(product: RunningProduct) -> None:
    asked = a_pool(replicas=1)
    await product.api.post(POOLS, asked)
    place = f"{POOLS}/{asked['name']}"
    seen = {"If-Match": (await product.api.get(place)).headers["ETag"]}
    await at_rest(product.api, asked["name"])
    first = await product.api.put(place, {"memory": "64Mi", "replicas": 0}, seen)
    second = await product.replica.put(place, {"memory": "64Mi", "replicas": 5}, seen)

    assert first.status == 200
    assert second.status_and_code == (412, "precondition_failed")


async def test_a_deleted_pool_takes_its_unclaimed_stock_along(product: RunningProduct) -> None:
    asked = a_pool()
    await product.api.post(POOLS, asked)
    await product.wait_ready_stock(asked["specName"], 2)
    answer = await product.api.delete(f"{POOLS}/{asked['name']}")

    assert (answer.status, answer.body) == (204, "")
    await product.wait_ready_stock(asked["specName"], 0)


async def test_a_pool_of_a_catalogued_spec_takes_its_resources_from_the_catalogue(
    product: RunningProduct,
) -> None:
    asked = a_pool(specName="h1.large", replicas=0)
    refused = await product.api.post(POOLS, asked)
    del asked["memory"]
    made = await product.api.post(POOLS, asked)
    place = f"{POOLS}/{asked['name']}"

    assert refused.status_and_code == (409, "conflict")
    assert (made.data["memory"], made.data["gpu"]) == ("64Gi", 2)
    changed = await product.api.put(place, {"replicas": 0, "gpu": 1})
    assert changed.status_and_code == (409, "conflict")
    assert (await product.api.put(place, {"replicas": 0})).data["gpu"] == 2


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
    answer = await api.put(f"{POOLS}/any", {"memory": "64Mi", **body})

    assert answer.status_and_code == (400, "invalid_request")
    assert list(answer.field_errors) == fields


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_absent_pool_is_not_found(api: ApiClient, method: str) -> None:
    body = {"memory": "64Mi"} if method == "PUT" else None

    assert (await api.request(method, f"{POOLS}/absent", body)).status_and_code == (
        404,
        "not_found",
    )


async def test_pools_are_listed_in_parts_that_tell_how_many_remain(product: RunningProduct) -> None:
    for _ in range(3):
        await product.api.post(POOLS, a_pool(replicas=0))
    everything = (await product.api.get(POOLS)).data
    first = await product.api.get(f"{POOLS}?limit=2")
    rest = await product.replica.get(f"{POOLS}?continue={first.meta['continue']}")

    assert first.meta["remaining"] == len(everything) - 2 == len(rest.data)
    assert [pool["name"] for pool in first.data + rest.data] == [
        pool["name"] for pool in everything
    ]


async def test_jobs_are_listed_by_type_and_status(product: RunningProduct) -> None:
    asked = a_pool(replicas=0)
    taken = {**asked, "operationID": new_name("pool")}
    await product.api.post(POOLS, asked)
    await product.api.post(POOLS, taken)
    await product.create_ready_stock(1)

    async def ids(query: str) -> set[str]:
        listed = (await product.replica.get(f"{JOBS}?limit=500&{query}")).data
        return {job["operationID"] for job in listed}

    succeeded = await ids("type=create_stock_pool&status=succeeded")
    failed = await ids("type=create_stock_pool&status=failed")
    assert asked["operationID"] in succeeded - failed
    assert taken["operationID"] in failed - succeeded
    assert not await ids("type=seed_stock_units") & (succeeded | failed)
    assert await ids("status=pending") == await ids("status=running") == set()


async def test_jobs_are_listed_in_parts(product: RunningProduct) -> None:
    for _ in range(3):
        await product.api.post(POOLS, a_pool(replicas=0))
    everything = [job["operationID"] for job in (await product.api.get(JOBS)).data]
    first = await product.api.get(f"{JOBS}?limit=2")
    rest = await product.replica.get(f"{JOBS}?continue={first.meta['continue']}")

    assert first.meta["remaining"] == len(everything) - 2
    assert [job["operationID"] for job in first.data + rest.data] == everything


@pytest.mark.parametrize("query", ["type=bake_bread", "status=Succeeded", "label=a%3Db"])
async def test_an_invalid_query_of_jobs_is_refused(api: ApiClient, query: str) -> None:
    assert (await api.get(f"{JOBS}?{query}")).status_and_code == (400, "invalid_request")


async def test_an_absent_job_is_not_found(api: ApiClient) -> None:
    assert (await api.get(f"{JOBS}/absent")).status_and_code == (404, "not_found")
