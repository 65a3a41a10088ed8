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
FILL = {"fromImage": "example/fill:1", "args": ["--all"]}


def a_storage(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "size": "1Gi", **more}


@pytest.fixture
async def api(installation: IsolatedInstallation, tmp_path: Path) -> AsyncIterator[ApiClient]:
    """Run one replica, which works in the namespaces of the site."""
    async with run_api(installation, tmp_path) as product:
        yield ApiClient(product.url)


async def report(site: IsolatedInstallation, name: str, **status: Any) -> None:
    await site.admin.patch(f"{site.path('gpustorages', name)}/status", {"status": status})


async def lock(site: IsolatedInstallation, name: str, text: str | None) -> None:
    """Lock the storage as a mount does, or remove the lock."""
    note = {"annotations": {MOUNTED_BY_ANNOTATION: text}}
    await site.admin.patch(site.path("gpustorages", name), {"metadata": note})


async def stock(site: IsolatedInstallation, name: str) -> None:
    """Create a claimable stock unit."""
    where = site.namespaces.stock
    await site.create("gpuunits", unit_manifest(name), namespace=where)
    path = site.path("gpuunits", name, namespace=where)
    await site.admin.patch(f"{path}/status", {"status": {"phase": "Ready"}})


async def test_a_storage_is_made_once_an_operation(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    body = a_storage("data", operationID="d-1", prepare=FILL, labels={"team": "a"})
    answers = await asyncio.gather(*(api.post(STORAGES, body) for _ in range(4)))
    assert sorted(each.status for each in answers) == [200, 200, 200, 201]
    made = answers[0].data
    assert {each.data["uid"] for each in answers} == {made["uid"]}
    assert (made["operationID"], made["prepare"], made["labels"]) == ("d-1", FILL, {"team": "a"})
    assert {each.headers["Location"] for each in answers} == {f"{STORAGES}/data"}
    stored = await installation.admin.get(installation.path("gpustorages", "data"))
    assert stored["spec"] == {"size": "1Gi", "prepare": FILL}

    other = await api.post(STORAGES, {**body, "size": "2Gi"})
    assert other.status_and_code == (409, "operation_conflict")
    taken = await api.post(STORAGES, {**body, "operationID": "d-2"})
    assert taken.status_and_code == (409, "already_exists")
    job = (await api.get("/api/v1/operator/jobs/d-1")).data
    assert (job["type"], job["status"]) == ("create_gpu_storage", "succeeded")
    assert job["objects"][0]["kind"] == "GPUStorage"

    assert (await api.delete(f"{STORAGES}/data")).status == 204
    gone = await api.post(STORAGES, body)
    assert (gone.status, gone.data["deleted"], gone.data["uid"]) == (200, True, made["uid"])
    assert (await api.get(f"{STORAGES}/data")).status_and_code == (404, "not_found")


async def test_without_an_operation_a_storage_is_made_or_refused(api: ApiClient) -> None:
    assert (await api.post(STORAGES, a_storage("data"))).status == 201
    again = await api.post(STORAGES, a_storage("data"))
    assert again.status_and_code == (409, "already_exists")
    bad = await api.post(STORAGES, {"name": "Data", "prepare": {"fromStorageName": "a"}})
    assert bad.status_and_code == (400, "invalid_request")
    assert {each["field"] for each in bad.error["details"]} == {"name", "size"}


async def test_storages_are_listed_by_phase_and_label_and_in_parts(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    for name, team in (("a", "red"), ("b", "red"), ("c", "blue")):
        await api.post(STORAGES, a_storage(name, labels={"team": team}))
    await report(installation, "b", phase="Ready")

    async def names(query: str) -> list[str]:
        return [each["name"] for each in (await api.get(f"{STORAGES}?{query}")).data]

    assert await names("phase=Ready") == ["b"]
    assert await names("label=team%3Dred") == ["a", "b"]
    first = await api.get(f"{STORAGES}?limit=2")
    assert [each["name"] for each in first.data] == ["a", "b"]
    assert await names(f"limit=2&continue={first.meta['continue']}") == ["c"]
    assert (await api.get(f"{STORAGES}?phase=Bound")).status_and_code == (400, "invalid_request")


async def test_a_storage_is_changed_within_its_rules(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    place = f"{STORAGES}/data"
    await api.post(STORAGES, a_storage("data", storageClassName="sim-now", labels={"a": "1"}))
    seen = (await api.get(place)).headers["ETag"]
    await report(installation, "data", phase="Ready", capacity="1Gi")

    change = {"size": "2Gi", "accessor": {"enabled": True}, "labels": {"b": "2"}}
    changed = await api.put(place, change, {"If-Match": seen})
    assert changed.status == 200
    assert {name: changed.data[name] for name in change} == change
    assert (await api.put(place, {"size": "3Gi"}, {"If-Match": seen})).status_and_code == (
        412,
        "precondition_failed",
    )
    kept = await api.put(place, {"labels": None})
    assert (kept.data["size"], kept.data["accessor"]) == ("2Gi", {"enabled": True})
    assert "labels" not in kept.data

    small = await api.put(place, {"size": "512Mi"})
    assert small.status_and_code == (400, "invalid_request")
    assert small.error["details"][0]["field"] == "size"
    fixed = {"name": "x", "prepare": FILL, "storageClassName": "sim-wait"}
    refused = await api.put(place, fixed)
    details = refused.error["details"]
    assert {each["field"] for each in details} == set(fixed)
    assert all(each["message"].startswith("cannot be changed") for each in details)


@pytest.mark.parametrize(("name", "status"), [("sim-fixed", 409), ("sim-wait", 200), ("", 200)])
async def test_a_class_that_cannot_expand_is_known(
    api: ApiClient, installation: IsolatedInstallation, name: str, status: int
) -> None:
    await api.post(STORAGES, a_storage("data", storageClassName=name))
    await report(installation, "data", capacity="1Gi")
    answer = await api.put(f"{STORAGES}/data", {"size": "2Gi"})
    assert answer.status == status
    assert (await api.put(f"{STORAGES}/data", {"size": "1Gi"})).status == 200


async def test_without_a_name_the_class_that_the_volume_has_got_decides(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, a_storage("data"))
    async with run_controller(installation, storage=StorageConfig(default_class="sim-fixed")):
        await wait_storage_reason(installation, "data", "StorageReady")
    refused = await api.put(f"{STORAGES}/data", {"size": "2Gi"})
    assert refused.status_and_code == (409, "conflict")
    assert "'sim-fixed'" in refused.error["message"]


async def test_only_an_unlocked_storage_can_be_deleted(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, a_storage("data"))
    await lock(installation, "data", '{"unit":"trainer","uid":"u"}')
    refused = await api.delete(f"{STORAGES}/data")
    assert refused.status_and_code == (409, "conflict")
    assert "unit trainer" in refused.error["message"]
    await lock(installation, "data", None)
    assert (await api.delete(f"{STORAGES}/data")).status == 204
    assert (await api.delete(f"{STORAGES}/data")).status_and_code == (404, "not_found")


async def test_a_failed_prepare_is_recovered_once(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    place = f"{STORAGES}/data/recover"
    await api.post(STORAGES, a_storage("data", prepare=FILL))
    assert (await api.post(place, None)).status_and_code == (409, "conflict")
    await report(installation, "data", phase="Failed", prepare={"phase": "Failed", "jobName": "j"})
    accepted = await api.post(place, None)
    assert (accepted.status, accepted.data["prepareStatus"]["phase"]) == (202, "Failed")
    assert (await api.post(place, None)).status_and_code == (409, "conflict")

    stored = await installation.admin.get(installation.path("gpustorages", "data"))
    request = stored["metadata"]["annotations"][RECOVER_ANNOTATION]
    await report(installation, "data", prepare={"phase": "Running", "recoveredBy": request})
    assert (await api.post(place, None)).status_and_code == (409, "conflict")
    await report(installation, "data", prepare={"phase": "Failed"})
    assert (await api.post(place, None)).status == 202
    assert (await api.post(f"{STORAGES}/none/recover", None)).status_and_code == (404, "not_found")


async def test_one_of_two_units_that_mount_a_storage_is_created(
    api: ApiClient, installation: IsolatedInstallation
) -> None:
    await api.post(STORAGES, a_storage("data"))
    for number in range(2):
        await stock(installation, f"s-{number}")

    def order(number: int) -> dict[str, Any]:
        mounts = [{"name": "data", "mountPath": "/data"}]
        return {
            "operationID": f"u-{number}",
            "name": f"unit-{number}",
            "specName": "g1.1",
            "image": "example/image:1",
            "storageMounts": mounts,
        }

    answers = await asyncio.gather(*(api.post(UNITS, order(number)) for number in range(2)))
    assert sorted(each.status for each in answers) == [201, 409]
    winner = next(number for number, each in enumerate(answers) if each.status == 201)
    loser = answers[1 - winner]
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
    missing = {**order(3), "storageMounts": [{"name": "none", "mountPath": "/none"}]}
    assert (await api.post(UNITS, missing)).status_and_code == (409, "conflict")
    assert (await api.get("/api/v1/operator/jobs/u-3")).status == 404
