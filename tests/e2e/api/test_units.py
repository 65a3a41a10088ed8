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
    request = create_unit_request(
        spec, labels={"tenant": "blue"}, template=PORTS, access={"scheme": "https"}
    )
    response = await product.api.post(UNITS, request)

    assert response.status == 201
    assert response.headers["Location"] == f"{UNITS}/{request['name']}"
    unit = response.data
    assert (unit["lifecycle"], unit["namespace"]) == (
        "instance",
        product.installation.namespaces.instance,
    )
    assert (unit["memory"], unit["specName"]) == ("128Mi", spec)
    assert (unit["image"], unit["operationID"]) == ("example/app:1", request["operationID"])
    assert (unit["sourceStockName"], unit["labels"]) == (stock["name"], {"tenant": "blue"})
    assert not {"nodeName", "lastSyncTime", "storageMounts"} & set(unit)


async def test_a_unit_becomes_ready_with_an_address_and_its_stock_is_consumed(
    product: RunningProduct,
) -> None:
    created = (
        await product.create_unit(template=PORTS, access={"primaryPort": "ssh", "scheme": "tcp"})
    ).data
    unit = (await product.api.get(f"{UNITS}/{created['name']}?wait=Ready")).data

    assert (unit["phase"], unit["reason"], unit["readyReplicas"]) == ("Ready", "UnitReady", 1)
    host = f"{unit['serviceName']}.{unit['namespace']}.svc.cluster.local:22"
    assert unit["accessURL"] == f"tcp://{host}"
    assert unit["nodeName"].startswith("gpu-")
    assert unit["observedGeneration"] == 1
    await product.wait_ready_stock(unit["specName"], 0)
    stock = product.installation.namespaces.stock
    await product.installation.wait_gone("gpuunits", unit["sourceStockName"], namespace=stock)


async def test_the_job_of_a_create_lists_the_unit(product: RunningProduct) -> None:
    created = (await product.create_unit()).data
    job = (await product.replica.get(f"{JOBS}/{created['operationID']}")).data

    assert (job["type"], job["status"]) == ("create_gpu_unit", "succeeded")
    assert (job["requested"], job["created"]) == (1, 1)
    reference = {"namespace": product.installation.namespaces.instance, "name": created["name"]}
    assert job["objects"] == [{"kind": "GPUUnit", **reference, "uid": created["uid"]}]
    assert {"createdAt", "updatedAt"} <= set(job)


async def test_an_operation_id_may_contain_slashes_and_reserved_characters(
    product: RunningProduct,
) -> None:
    operation = f"fn/{new_name('x')}/1 %?#"
    await product.create_unit(operationID=operation)
    job = await product.api.get(f"{JOBS}/{quote(operation, safe='')}")

    assert (job.status, job.data["operationID"]) == (200, operation)


async def test_the_labels_of_a_unit_are_copied_to_its_pods(product: RunningProduct) -> None:
    name = await product.create_ready_unit(labels={"tenant": "green"})
    pods = await product.installation.list("pods", labelSelector="tenant=green")

    assert [pod["metadata"]["labels"]["runtime.lokiwager.io/unit"] for pod in pods] == [name]


async def test_a_create_claims_the_named_stock_unit(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(3)
    chosen = (await product.wait_ready_stock(spec, 3))[1]["name"]
    response = await product.api.post(UNITS, create_unit_request(spec, stockName=chosen))

    assert (response.status, response.data["sourceStockName"]) == (201, chosen)


async def test_a_named_stock_unit_of_another_spec_is_not_claimed(product: RunningProduct) -> None:
    spec, other = await product.create_ready_stock(1), await product.create_ready_stock(1)
    (stock,) = await product.wait_ready_stock(other, 1)
    response = await product.api.post(UNITS, create_unit_request(spec, stockName=stock["name"]))

    assert response.status_and_code == (409, "insufficient_capacity")
    assert stock["name"] in response.error["message"]


async def test_a_create_without_ready_stock_is_refused_with_the_counts_of_the_stock(
    product: RunningProduct,
) -> None:
    spec = new_name("spec")
    without_stock = await product.api.post(UNITS, create_unit_request(spec))
    await product.api.post(
        STOCK,
        {"operationID": new_name("seed"), "specName": spec, "memory": "9Ti", "replicas": 2},
    )
    await eventually(
        lambda: product.api.get(f"{STOCK}?specName={spec}&phase=Progressing"),
        lambda response: len(response.data) == 2,
    )
    with_pending_stock = await eventually(  # the counts may be slightly out of date
        lambda: product.api.post(UNITS, create_unit_request(spec)),
        lambda response: response.error["message"].endswith(
            f"stock of spec {spec!r}: 2 Progressing"
        ),
    )

    for response in (without_stock, with_pending_stock):
        assert response.status_and_code == (409, "insufficient_capacity")
    assert without_stock.error["message"].endswith(f"stock of spec {spec!r}: none")


async def test_a_create_without_stock_writes_no_operation(product: RunningProduct) -> None:
    request = create_unit_request(new_name("spec"))
    await product.api.post(UNITS, request)

    assert (await product.api.get(f"{JOBS}/{request['operationID']}")).status_and_code == (
        404,
        "not_found",
    )


async def test_a_unit_name_of_another_operation_is_refused(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(2)
    request = create_unit_request(spec)
    await product.api.post(UNITS, request)
    duplicate = await product.api.post(UNITS, {**request, "operationID": new_name("create")})

    assert duplicate.status_and_code == (409, "already_exists")
    await product.wait_ready_stock(spec, 1)


async def test_a_missing_storage_is_a_conflict_and_claims_no_stock(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(1)
    mounts = [{"name": "absent", "mountPath": "/data"}]
    response = await product.api.post(UNITS, create_unit_request(spec, storageMounts=mounts))

    assert response.status_and_code == (409, "conflict")
    assert "'absent'" in response.error["message"]
    await product.wait_ready_stock(spec, 1)


async def test_a_unit_waits_for_a_storage_that_is_not_ready(product: RunningProduct) -> None:
    storage = new_name("storage")
    await gpu_storages.create_storage(
        product.installation, gpu_storages.simulated_prepare_storage(storage, run_for="1h")
    )
    created = (
        await product.create_unit(storageMounts=[{"name": storage, "mountPath": "/data"}])
    ).data
    path = f"{UNITS}/{created['name']}"
    waiting = await eventually(
        lambda: product.api.get(path), lambda response: "reason" in response.data
    )
    assert waiting.data["reason"] == "StorageNotReady"

    (pod,) = await eventually(lambda: gpu_storages.prepare_pods(product.installation, storage))
    await patch_pod_labels(product.installation.admin, pod, {"sim.local/run-for": "1ms"})
    assert (await product.api.get(f"{path}?wait=Ready")).data["phase"] == "Ready"


@pytest.mark.parametrize(
    ("changes", "fields"),
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
    product: RunningProduct, changes: dict[str, object], fields: list[str]
) -> None:
    request = create_unit_request("h1.small", **changes)
    response = await product.api.post(UNITS, request)

    assert response.status_and_code == (400, "invalid_request")
    assert sorted(response.field_errors) == fields
    assert (await product.api.get(f"{JOBS}/{request['operationID']}")).status == 404


async def test_every_validation_error_of_a_create_is_listed(api: ApiClient) -> None:
    access = {"template": {"ports": [{"name": "http", "port": 80}]}, "access": {"primaryPort": "x"}}
    response = await api.post(UNITS, {"name": "X", "image": 7, "colour": "red", **access})

    expected = ["access.primaryPort", "colour", "image", "name", "operationID", "specName"]
    assert sorted(response.field_errors) == expected


async def test_the_deletion_of_a_unit_deletes_its_children(product: RunningProduct) -> None:
    name = await product.create_ready_unit()
    response = await product.api.delete(f"{UNITS}/{name}")

    assert (response.status, response.body) == (204, "")
    await product.installation.wait_gone("gpuunits", name)
    await product.installation.wait_gone("deployments", f"unit-{name}")
    assert (await product.api.get(f"{UNITS}/{name}")).status_and_code == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_absent_unit_is_not_found(api: ApiClient, method: str) -> None:
    body = {"image": "example/app:2"} if method == "PUT" else None
    response = await api.request(method, f"{UNITS}/absent", body)

    assert response.status_and_code == (404, "not_found")
    assert "'absent'" in response.error["message"]


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
    response = await api.request(method, path)

    assert response.status_and_code == (405, "method_not_allowed")
    assert response.headers["Allow"] == allowed


async def test_the_response_has_the_request_id_of_the_caller(api: ApiClient) -> None:
    with_id = await api.request("GET", UNITS, headers={"X-Request-ID": "call-7"})
    without_id = await api.get(f"{UNITS}/absent")

    assert with_id.headers["X-Request-ID"] == "call-7"
    assert len(without_id.headers["X-Request-ID"]) == 32


async def test_units_are_found_by_spec_phase_and_label(product: RunningProduct) -> None:
    tenant = new_name("tenant")
    spec = await product.create_ready_stock(2)
    requests = [
        create_unit_request(spec, labels={"tenant": tenant}),
        create_unit_request(spec, labels={"tenant": tenant, "sim.local/mode": "never-ready"}),
    ]
    await asyncio.gather(*(product.api.post(UNITS, request) for request in requests))
    ready, pending = (request["name"] for request in requests)
    await product.api.get(f"{UNITS}/{ready}?wait=Ready")

    async def names_of(query: str) -> list[str]:
        return sorted(unit["name"] for unit in (await product.api.get(f"{UNITS}?{query}")).data)

    assert await names_of(f"specName={spec}") == sorted([ready, pending])
    assert await names_of(f"label=tenant%3D{tenant}") == sorted([ready, pending])
    assert await names_of(f"label=tenant%3D{tenant},sim.local/mode") == [pending]
    assert await names_of(f"specName={spec}&phase=Ready") == [ready]
    assert await names_of(f"specName={spec}&phase=Failed") == []


async def test_units_are_listed_in_pages(product: RunningProduct) -> None:
    spec = await product.create_ready_stock(5)
    requests = [create_unit_request(spec) for _ in range(5)]
    await asyncio.gather(*(product.api.post(UNITS, request) for request in requests))
    names: list[str] = []
    query = f"{UNITS}?specName={spec}&limit=2"
    page = await product.api.get(query)
    names += [unit["name"] for unit in page.data]
    while "continue" in page.meta:
        page = await product.replica.get(f"{query}&continue={page.meta['continue']}")
        assert 1 <= len(page.data) <= 2
        names += [unit["name"] for unit in page.data]

    assert names == sorted(request["name"] for request in requests)


async def test_a_page_of_units_has_the_remaining_count(product: RunningProduct) -> None:
    await asyncio.gather(*(product.create_unit() for _ in range(2)))
    count = len((await product.api.get(f"{UNITS}?limit=500")).data)
    page = await product.api.get(f"{UNITS}?limit=1")

    assert page.meta["remaining"] == count - 1


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "phase=Sleepy", "label=a%20b%20c", "continue=x", "page=2"],
)
async def test_an_invalid_query_of_units_is_refused(api: ApiClient, query: str) -> None:
    assert (await api.get(f"{UNITS}?{query}")).status_and_code == (400, "invalid_request")
