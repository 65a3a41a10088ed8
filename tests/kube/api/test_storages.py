"""Storages over HTTP on a real API server; the test writes the status in the controller's place."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from controller.config import StorageConfig
from shared.v1alpha1.wellknown import MOUNT_FINALIZER, MOUNTED_BY_ANNOTATION, RECOVER_ANNOTATION
from tests.support.builders.gpu_storages import wait_storage_reason
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.cluster.running_product import run_api
from tests.support.http.api_client import ApiClient

STORAGES = "/api/v1/gpu-storages"
UNITS = "/api/v1/gpu-units"
PREPARE = {"fromImage": "example/fill:1", "args": ["--all"]}


def storage_request(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "size": "1Gi", **fields}


@pytest.fixture
async def api(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ApiClient]:
    """Run one replica, which works in the namespaces of the installation."""
    async with run_api(installation, tmp_path) as product:
        yield ApiClient(product.url)


async def set_status(installation: IsolatedInstallation, name: str, **status: Any) -> None:
    await installation.admin.patch(
        f"{installation.path('gpustorages', name)}/status", {"status": status}
    )


async def set_lock(installation: IsolatedInstallation, name: str, text: str | None) -> None:
    """Lock the storage as a mount does, or remove the lock."""
    metadata = {"annotations": {MOUNTED_BY_ANNOTATION: text}}
    await installation.admin.patch(installation.path("gpustorages", name), {"metadata": metadata})


async def create_stock(installation: IsolatedInstallation, name: str) -> None:
    """Create a claimable stock unit."""
    namespace = installation.namespaces.stock
    await installation.create("gpuunits", unit_manifest(name), namespace=namespace)
    path = installation.path("gpuunits", name, namespace=namespace)
    await installation.admin.patch(f"{path}/status", {"status": {"phase": "Ready"}})


async def test_a_storage_is_created_once_per_operation(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    body = storage_request("data", operationID="d-1", prepare=PREPARE, labels={"team": "a"})
    responses = await asyncio.gather(*(api.post(STORAGES, body) for _ in range(4)))
    assert sorted(response.status for response in responses) == [200, 200, 200, 201]
    created = responses[0].data
    assert {response.data["uid"] for response in responses} == {created["uid"]}
    assert (created["operationID"], created["prepare"]) == ("d-1", PREPARE)
    assert created["labels"] == {"team": "a"}
    assert {response.headers["Location"] for response in responses} == {f"{STORAGES}/data"}
    stored = await installation.admin.get(installation.path("gpustorages", "data"))
    assert stored["spec"] == {"size": "1Gi", "prepare": PREPARE}

    different = await api.post(STORAGES, {**body, "size": "2Gi"})
    assert different.status_and_code == (409, "operation_conflict")
    taken = await api.post(STORAGES, {**body, "operationID": "d-2"})
    assert taken.status_and_code == (409, "already_exists")
    job = (await api.get("/api/v1/operator/jobs/d-1")).data
    assert (job["type"], job["status"]) == ("create_gpu_storage", "succeeded")
    assert job["objects"][0]["kind"] == "GPUStorage"

    assert (await api.delete(f"{STORAGES}/data")).status == 204
    replay = await api.post(STORAGES, body)
    assert (replay.status, replay.data["deleted"]) == (200, True)
    assert replay.data["uid"] == created["uid"]
    assert (await api.get(f"{STORAGES}/data")).status_and_code == (404, "not_found")


async def test_a_storage_without_an_operation_id_is_created_or_refused(api: ApiClient) -> None:
    assert (await api.post(STORAGES, storage_request("data"))).status == 201
    second = await api.post(STORAGES, storage_request("data"))
    assert second.status_and_code == (409, "already_exists")
    invalid = await api.post(STORAGES, {"name": "Data", "prepare": {"fromStorageName": "a"}})
    assert invalid.status_and_code == (400, "invalid_request")
    assert {detail["field"] for detail in invalid.error["details"]} == {"name", "size"}


async def test_storages_are_listed_by_phase_and_label_and_in_pages(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    for name, team in (("a", "red"), ("b", "red"), ("c", "blue")):
        await api.post(STORAGES, storage_request(name, labels={"team": team}))
    await set_status(installation, "b", phase="Ready")

    async def names(query: str) -> list[str]:
        return [storage["name"] for storage in (await api.get(f"{STORAGES}?{query}")).data]

    assert await names("phase=Ready") == ["b"]
    assert await names("label=team%3Dred") == ["a", "b"]
    first = await api.get(f"{STORAGES}?limit=2")
    assert [storage["name"] for storage in first.data] == ["a", "b"]
    assert await names(f"limit=2&continue={first.meta['continue']}") == ["c"]
    assert (await api.get(f"{STORAGES}?phase=Bound")).status_and_code == (400, "invalid_request")


async def test_a_storage_change_is_validated_and_applied(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    path = f"{STORAGES}/data"
    await api.post(STORAGES, storage_request("data", storageClassName="sim-now", labels={"a": "1"}))
    etag = (await api.get(path)).headers["ETag"]
    await set_status(installation, "data", phase="Ready", capacity="1Gi")

    change = {"size": "2Gi", "accessor": {"enabled": True}, "labels": {"b": "2"}}
    changed = await api.put(path, change, {"If-Match": etag})
    assert changed.status == 200
    assert {name: changed.data[name] for name in change} == change
    assert (await api.put(path, {"size": "3Gi"}, {"If-Match": etag})).status_and_code == (
        412,
        "precondition_failed",
    )
    unchanged = await api.put(path, {"labels": None})
    assert (unchanged.data["size"], unchanged.data["accessor"]) == ("2Gi", {"enabled": True})
    assert "labels" not in unchanged.data

    refused_size = await api.put(path, {"size": "512Mi"})
    assert refused_size.status_and_code == (400, "invalid_request")
    assert refused_size.error["details"][0]["field"] == "size"
    unchangeable = {"name": "x", "prepare": PREPARE, "storageClassName": "sim-wait"}
    refused = await api.put(path, unchangeable)
    details = refused.error["details"]
    assert {detail["field"] for detail in details} == set(unchangeable)
    assert all(detail["message"].startswith("cannot be changed") for detail in details)


@pytest.mark.parametrize(("name", "status"), [("sim-fixed", 409), ("sim-wait", 200), ("", 200)])
async def test_growth_is_refused_if_the_storage_class_does_not_expand(
    api: ApiClient, installation: IsolatedInstallation, name: str, status: int
) -> None:
    await api.post(STORAGES, storage_request("data", storageClassName=name))
    await set_status(installation, "data", capacity="1Gi")
    response = await api.put(f"{STORAGES}/data", {"size": "2Gi"})
    assert response.status == status
    assert (await api.put(f"{STORAGES}/data", {"size": "1Gi"})).status == 200


async def test_without_a_class_name_the_class_of_the_volume_decides_about_growth(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, storage_request("data"))
    async with run_controller(installation, storage=StorageConfig(default_class="sim-fixed")):
        await wait_storage_reason(installation, "data", "StorageReady")
    refused = await api.put(f"{STORAGES}/data", {"size": "2Gi"})
    assert refused.status_and_code == (409, "conflict")
    assert "'sim-fixed'" in refused.error["message"]


async def test_only_an_unlocked_storage_can_be_deleted(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, storage_request("data"))
    await set_lock(installation, "data", '{"unit":"trainer","uid":"u"}')
    refused = await api.delete(f"{STORAGES}/data")
    assert refused.status_and_code == (409, "conflict")
    assert "unit trainer" in refused.error["message"]
    await set_lock(installation, "data", None)
    assert (await api.delete(f"{STORAGES}/data")).status == 204
    assert (await api.delete(f"{STORAGES}/data")).status_and_code == (404, "not_found")


async def test_a_failed_prepare_is_recovered_once(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    path = f"{STORAGES}/data/recover"
    await api.post(STORAGES, storage_request("data", prepare=PREPARE))
    assert (await api.post(path, None)).status_and_code == (409, "conflict")
    await set_status(
        installation, "data", phase="Failed", prepare={"phase": "Failed", "jobName": "j"}
    )
    accepted = await api.post(path, None)
    assert (accepted.status, accepted.data["prepareStatus"]["phase"]) == (202, "Failed")
    assert (await api.post(path, None)).status_and_code == (409, "conflict")

    stored = await installation.admin.get(installation.path("gpustorages", "data"))
    request = stored["metadata"]["annotations"][RECOVER_ANNOTATION]
    await set_status(installation, "data", prepare={"phase": "Running", "recoveredBy": request})
    assert (await api.post(path, None)).status_and_code == (409, "conflict")
    await set_status(installation, "data", prepare={"phase": "Failed"})
    assert (await api.post(path, None)).status == 202
    assert (await api.post(f"{STORAGES}/none/recover", None)).status_and_code == (404, "not_found")


async def test_one_of_two_units_that_mount_a_storage_is_created(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, storage_request("data"))
    for number in range(2):
        await create_stock(installation, f"s-{number}")

    def unit_request(number: int) -> dict[str, Any]:
        mounts = [{"name": "data", "mountPath": "/data"}]
        return {
            "operationID": f"u-{number}",
            "name": f"unit-{number}",
            "specName": "g1.1",
            "image": "example/image:1",
            "storageMounts": mounts,
        }

    responses = await asyncio.gather(
        *(api.post(UNITS, unit_request(number)) for number in range(2))
    )
    assert sorted(response.status for response in responses) == [201, 409]
    winner = next(number for number, response in enumerate(responses) if response.status == 201)
    loser = responses[1 - winner]
    assert loser.status_and_code == (409, "conflict")
    assert "'data'" in loser.error["message"]
    assert f"unit-{winner}" in loser.error["message"]
    stored = await installation.admin.get(installation.path("gpustorages", "data"))
    assert stored["metadata"]["finalizers"] == [MOUNT_FINALIZER]
    assert (await api.delete(f"{STORAGES}/data")).status_and_code == (409, "conflict")

    claimed = await installation.list(
        "gpuunits",
        namespace=installation.namespaces.stock,
        labelSelector="runtime.lokiwager.io/claimed",
    )
    assert len(claimed) == 1
    missing = {**unit_request(3), "storageMounts": [{"name": "none", "mountPath": "/none"}]}
    assert (await api.post(UNITS, missing)).status_and_code == (409, "conflict")
    assert (await api.get("/api/v1/operator/jobs/u-3")).status == 404
