"""Tests of the storage routes, through router and middlewares."""

import pytest

from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.storages.commands import ChangeStorage, CreateStorage, ListStorages
from shared.v1alpha1.gpustorage import AccessorSpec
from shared.v1alpha1.operation import OperationType
from tests.unit.apiserver.fake_services import FakeStorageService
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.objects import new_job, new_storage

STORAGES_PATH = "/api/v1/gpu-storages"
BODY = {"operationID": "d-1", "name": "data", "size": "1Gi"}


@pytest.mark.parametrize(("outcome", "status"), [(ResultKind.NEW, 201), (ResultKind.REPLAY, 200)])
async def test_the_response_to_a_create_has_the_location_of_the_storage(
    outcome: ResultKind, status: int
) -> None:
    storages = FakeStorageService(accepted=OperationResult(new_storage(), outcome))
    async with run_app(storages=storages) as api:
        response = await api.post(STORAGES_PATH, BODY)
    assert (response.status, response.headers["Location"]) == (status, f"{STORAGES_PATH}/data")
    assert response.json["data"]["size"] == "1Gi"
    assert storages.calls == [CreateStorage("d-1", "data", "1Gi")]


async def test_the_response_to_an_unfinished_storage_create_is_its_job() -> None:
    job = new_job("d-1", OperationType.CREATE_GPU_STORAGE)
    storages = FakeStorageService(accepted=OperationResult(job, ResultKind.UNFINISHED))
    async with run_app(storages=storages) as api:
        response = await api.post(STORAGES_PATH, BODY)
    assert (response.status, response.json["data"]["type"]) == (202, "create_gpu_storage")


async def test_a_replay_reports_a_deleted_storage() -> None:
    deleted = DeletedObject("data", "runtime-instance", "u", "d-1")
    async with run_app(
        storages=FakeStorageService(accepted=OperationResult(deleted, ResultKind.REPLAY))
    ) as api:
        response = await api.post(STORAGES_PATH, BODY)
    assert (response.status, response.json["data"]["deleted"]) == (200, True)


async def test_storages_are_listed_shown_and_deleted() -> None:
    storages = FakeStorageService({"data": new_storage()})
    async with run_app(storages=storages) as api:
        listed = await api.get(f"{STORAGES_PATH}?phase=Ready&label=team%3Da&limit=7")
        assert listed.json["data"][0]["name"] == "data"
        assert (await api.get(f"{STORAGES_PATH}?phase=Progressing")).error_code == "invalid_request"
        assert (await api.get(f"{STORAGES_PATH}/data")).headers["ETag"] == '"uid-data.2"'
        assert (await api.delete(f"{STORAGES_PATH}/data")).status == 204
        assert (await api.get(f"{STORAGES_PATH}/data")).status == 404
    assert storages.calls == [ListStorages("Ready", "team=a", 7)]


async def test_a_storage_is_changed() -> None:
    storages = FakeStorageService({"data": new_storage()})
    body = {"size": "2Gi", "accessor": {"enabled": True}}
    async with run_app(storages=storages) as api:
        response = await api.put(f"{STORAGES_PATH}/data", body, If_Match='"uid-data.2"')
    assert (response.status, response.headers["ETag"]) == (200, '"uid-data.2"')
    if_match = (Revision("uid-data", 2),)
    assert storages.calls == [
        ChangeStorage("data", "2Gi", AccessorSpec(enabled=True), if_match=if_match),
    ]


async def test_a_recovery_is_accepted_without_a_body() -> None:
    storages = FakeStorageService({"data": new_storage()})
    async with run_app(storages=storages) as api:
        response = await api.request(
            "POST", f"{STORAGES_PATH}/data/recover", Content_Type="text/plain"
        )
        assert (await api.request("POST", f"{STORAGES_PATH}/data/recover?force=1")).status == 400
        assert (await api.get(f"{STORAGES_PATH}/data/recover")).headers["Allow"] == "POST"
    assert (response.status, response.json["data"]["name"]) == (202, "data")
    assert storages.calls == ["data"]
