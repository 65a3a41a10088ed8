"""Users' units over HTTP: created from stock, shown, listed and deleted."""

import asyncio
from urllib.parse import quote

import pytest

from apiserver.http.paths import JOBS, STOCK, UNITS
from tests.support.builders import gpu_storages
from tests.support.builders.pods import patch_pod_labels
from tests.support.cluster.running_product import RunningProduct, create_unit_request, new_name
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually

PORTS = {"ports": [{"name": "http", "port": 8888}, {"name": "ssh", "port": 22}]}


async def test_a_unit_created_from_stock_has_the_resources_of_the_stock(
    product: RunningProduct,
) -> None:
    spec = await product.create_ready_stock(1, memory="128Mi")
    (stock,) = (await product.api.get(f"{STOCK}?specName={spec}")).data
    order = create_unit_request(
        spec, labels={"tenant": "blue"}, template=PORTS, access={"scheme": "https"}
    )
    answer = await product.api.post(UNITS, order)

    assert answer.status == 201
    assert answer.headers["Location"] == f"{UNITS}/{order['name']}"
    unit = answer.data
    assert (unit["lifecycle"], unit["namespace"]) == (
        "instance",
        product.installation.namespaces.instance,
    )
    assert (unit["memory"], unit["specName"]) == ("128Mi", spec)
    assert (unit["image"], unit["operationID"]) == ("example/app:1", order["operationID"])
    assert (unit["sourceStockName"], unit["labels"]) == (stock["name"], {"tenant": "blue"})
    assert not {"nodeName", "lastSyncTime", "storageMounts"} & set(unit)


async def test_a_unit_becomes_ready_with_an_address_and_its_stock_is_consumed(
    product: RunningProduct,
) -> None:
    made = (
        await product.create_unit(template=PORTS, access={"primaryPort": "ssh", "scheme": "tcp"})
    ).data
    unit = (await product.api.get(f"{UNITS}/{made['name']}?wait=Ready")).data

    assert (unit["phase"], unit["reason"], unit["readyReplicas"]) == ("Ready", "UnitReady", 1)
    where = f"{unit['serviceName']}.{unit['namespace']}.svc.cluster.local:22"
    assert unit["accessURL"] == f"tcp://{where}"
    assert unit["nodeName"].startswith("gpu-")
    assert unit["observedGeneration"] == 1
    await product.wait_ready_stock(unit["specName"], 0)
    stock = product.installation.namespaces.stock
    await product.installation.wait_gone("gpuunits", unit["sourceStockName"], namespace=stock)


async def test_the_job_of_a_creation_holds_the_unit(product: RunningProduct) -> None:
    made = (await product.create_unit()).data
    job = (await product.replica.get(f"{JOBS}/{made['operationID']}")).data

    assert (job["type"], job["status"]) == ("create_gpu_unit", "succeeded")
    assert (job["requested"], job["created"]) == (1, 1)
    place = {"namespace": product.installation.namespaces.instance, "name": made["name"]}
    assert job["objects"] == [{"kind": "GPUUnit", **place, "uid": made["uid"]}]
    assert {"createdAt", "updatedAt"} <= set(job)


async def test_an_operation_may_be_named_like_a_path(product: RunningProduct) -> None:
    operation = f"fn/{new_name('x')}/1 %?#"
    await product.create_unit(operationID=operation)
    job = await product.api.get(f"{JOBS}/{quote(operation, safe='')}")

    assert (job.status, job.data["operationID"]) == (200, operation)


async def test_labels_reach_the_pods(product: RunningProduct) -> None:
    name = await product.create_ready_unit(labels={"tenant": "green"})
    pods = await product.installation.list("pods", labelSelector="tenant=green")

    assert [pod["metadata"]["labels"]["runtime.lokiwager.io/unit"] for pod in pods] == [name]


async def test_a_named_stock_unit_is_the_one_that_is_taken(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(3)
    chosen = (await product.wait_ready_stock(spec, 3))[1]["name"]
    answer = await product.api.post(UNITS, create_unit_request(spec, stockName=chosen))

    assert (answer.status, answer.data["sourceStockName"]) == (201, chosen)


async def test_a_named_stock_unit_of_another_spec_is_not_taken(product: RunningProduct) -> None:
    spec, other = await product.create_ready_stock(1), await product.create_ready_stock(1)
    (stock,) = await product.wait_ready_stock(other, 1)
    answer = await product.api.post(UNITS, create_unit_request(spec, stockName=stock["name"]))

    assert answer.status_and_code == (409, "insufficient_capacity")
    assert stock["name"] in answer.error["message"]


async def test_without_stock_the_answer_names_the_spec_and_what_there_is(
    product: RunningProduct,
) -> None:
    spec = new_name("spec")
    none = await product.api.post(UNITS, create_unit_request(spec))
    await product.api.post(
        STOCK,
        {"operationID": new_name("seed"), "specName": spec, "memory": "9Ti", "replicas": 2},
    )
    await eventually(
        lambda: product.api.get(f"{STOCK}?specName={spec}&phase=Progressing"),
        lambda answer: len(answer.data) == 2,
    )
    some = await eventually(  # the counts may be slightly out of date
        lambda: product.api.post(UNITS, create_unit_request(spec)),
        lambda seen: seen.error["message"].endswith(f"of spec {spec!r} there is 2 Progressing"),
    )

    assert none.status_and_code == some.status_and_code == (409, "insufficient_capacity")
    assert none.error["message"].endswith(f"of spec {spec!r} there is none")


async def test_a_refused_creation_writes_nothing(product: RunningProduct) -> None:
    order = create_unit_request(new_name("spec"))
    await product.api.post(UNITS, order)

    assert (await product.api.get(f"{JOBS}/{order['operationID']}")).status_and_code == (
        404,
        "not_found",
    )


async def test_a_name_that_another_operation_has_is_refused(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(2)
    order = create_unit_request(spec)
    await product.api.post(UNITS, order)
    again = await product.api.post(UNITS, {**order, "operationID": new_name("create")})

    assert again.status_and_code == (409, "already_exists")
    await product.wait_ready_stock(spec, 1)


async def test_a_missing_storage_is_a_conflict_and_takes_no_stock(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    mounts = [{"name": "absent", "mountPath": "/data"}]
    answer = await product.api.post(UNITS, create_unit_request(spec, storageMounts=mounts))

    assert answer.status_and_code == (409, "conflict")
    assert "'absent'" in answer.error["message"]
    await product.wait_ready_stock(spec, 1)


async def test_a_storage_that_is_not_ready_is_waited_for(product: RunningProduct) -> None:
    storage = new_name("storage")
    await gpu_storages.create_storage(
        product.installation, gpu_storages.simulated_prepare_storage(storage, run_for="1h")
    )
    made = (await product.create_unit(storageMounts=[{"name": storage, "mountPath": "/data"}])).data
    place = f"{UNITS}/{made['name']}"
    waiting = await eventually(
        lambda: product.api.get(place), lambda answer: "reason" in answer.data
    )
    assert waiting.data["reason"] == "StorageNotReady"

    (pod,) = await eventually(lambda: gpu_storages.prepare_pods(product.installation, storage))
    await patch_pod_labels(product.installation.admin, pod, {"sim.local/run-for": "1ms"})
    assert (await product.api.get(f"{place}?wait=Ready")).data["phase"] == "Ready"


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({"name": "Not_A_Name"}, ["name"]),
        ({"image": ""}, ["image"]),
        ({"namespace": "kube-system"}, ["namespace"]),
        ({"stockNamespace": "kube-system"}, ["stockNamespace"]),
        ({"memory": "1Gi", "gpu": 1, "cpu": "1"}, ["cpu", "gpu", "memory"]),
        ({"labels": {"runtime.lokiwager.io/unit": "x"}}, ["labels['runtime.lokiwager.io/unit']"]),
        ({"template": {"envs": [{"name": "A=B", "value": ""}]}}, ["template.envs[0].name"]),
        ({"template": {"ports": [{"name": "x", "port": 0}]}}, ["template.ports[0].port"]),
        ({"template": PORTS, "access": {"primaryPort": "web"}}, ["access.primaryPort"]),
        ({"template": PORTS, "access": {"scheme": "ftp"}}, ["access.scheme"]),
        (
            {"storageMounts": [{"name": "a", "mountPath": "/proc/x"}]},
            ["storageMounts[0].mountPath"],
        ),
        ({"replicas": 2}, ["replicas"]),
    ],
    ids=str,
)
async def test_an_invalid_create_is_refused_before_stock_is_claimed(
    product: RunningProduct, asked: dict[str, object], fields: list[str]
) -> None:
    order = create_unit_request("h1.small", **asked)
    answer = await product.api.post(UNITS, order)

    assert answer.status_and_code == (400, "invalid_request")
    assert sorted(answer.field_errors) == fields
    assert (await product.api.get(f"{JOBS}/{order['operationID']}")).status == 404


async def test_every_validation_error_of_a_create_is_listed(api: ApiClient) -> None:
    access = {"template": {"ports": [{"name": "http", "port": 80}]}, "access": {"primaryPort": "x"}}
    answer = await api.post(UNITS, {"name": "X", "image": 7, "colour": "red", **access})

    wrong = ["access.primaryPort", "colour", "image", "name", "operationID", "specName"]
    assert sorted(answer.field_errors) == wrong


async def test_a_deleted_unit_is_gone_with_its_children(product: RunningProduct) -> None:
    name = await product.create_ready_unit()
    answer = await product.api.delete(f"{UNITS}/{name}")

    assert (answer.status, answer.body) == (204, "")
    await product.installation.wait_gone("gpuunits", name)
    await product.installation.wait_gone("deployments", f"unit-{name}")
    assert (await product.api.get(f"{UNITS}/{name}")).status_and_code == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_absent_unit_is_not_found(api: ApiClient, method: str) -> None:
    body = {"image": "example/app:2"} if method == "PUT" else None
    answer = await api.request(method, f"{UNITS}/absent", body)

    assert answer.status_and_code == (404, "not_found")
    assert "'absent'" in answer.error["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", UNITS, "GET,HEAD,POST"),
        ("POST", f"{UNITS}/x", "DELETE,GET,HEAD,PUT"),
        ("PUT", f"{STOCK}/x", "DELETE"),
        ("DELETE", JOBS, "GET,HEAD"),
    ],
)
async def test_a_wrong_method_on_units_gets_the_allowed_methods(
    api: ApiClient, method: str, path: str, allowed: str
) -> None:
    answer = await api.request(method, path)

    assert answer.status_and_code == (405, "method_not_allowed")
    assert answer.headers["Allow"] == allowed


async def test_the_request_id_of_the_caller_comes_back(api: ApiClient) -> None:
    mine = await api.request("GET", UNITS, headers={"X-Request-ID": "call-7"})
    made = await api.get(f"{UNITS}/absent")

    assert mine.headers["X-Request-ID"] == "call-7"
    assert len(made.headers["X-Request-ID"]) == 32


async def test_units_are_found_by_spec_phase_and_label(product: RunningProduct) -> None:
    tenant = new_name("tenant")
    spec = await product.create_ready_stock(2)
    orders = [
        create_unit_request(spec, labels={"tenant": tenant}),
        create_unit_request(spec, labels={"tenant": tenant, "sim.local/mode": "never-ready"}),
    ]
    await asyncio.gather(*(product.api.post(UNITS, order) for order in orders))
    good, slow = (order["name"] for order in orders)
    await product.api.get(f"{UNITS}/{good}?wait=Ready")

    async def found(query: str) -> list[str]:
        return sorted(unit["name"] for unit in (await product.api.get(f"{UNITS}?{query}")).data)

    assert await found(f"specName={spec}") == sorted([good, slow])
    assert await found(f"label=tenant%3D{tenant}") == sorted([good, slow])
    assert await found(f"label=tenant%3D{tenant},sim.local/mode") == [slow]
    assert await found(f"specName={spec}&phase=Ready") == [good]
    assert await found(f"specName={spec}&phase=Failed") == []


async def test_units_are_listed_in_pages(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(5)
    orders = [create_unit_request(spec) for _ in range(5)]
    await asyncio.gather(*(product.api.post(UNITS, order) for order in orders))
    names: list[str] = []
    query = f"{UNITS}?specName={spec}&limit=2"
    page = await product.api.get(query)
    names += [unit["name"] for unit in page.data]
    while "continue" in page.meta:
        page = await product.replica.get(f"{query}&continue={page.meta['continue']}")
        assert 1 <= len(page.data) <= 2
        names += [unit["name"] for unit in page.data]

    assert names == sorted(order["name"] for order in orders)


async def test_a_page_of_units_has_the_remaining_count(product: RunningProduct) -> None:
    await asyncio.gather(*(product.create_unit() for _ in range(2)))
    count = len((await product.api.get(f"{UNITS}?limit=500")).data)
    part = await product.api.get(f"{UNITS}?limit=1")

    assert part.meta["remaining"] == count - 1


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "phase=Sleepy", "label=a%20b%20c", "continue=x", "page=2"],
)
async def test_an_invalid_query_of_units_is_refused(api: ApiClient, query: str) -> None:
    assert (await api.get(f"{UNITS}?{query}")).status_and_code == (400, "invalid_request")
