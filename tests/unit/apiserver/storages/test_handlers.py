"""The routes of storages, through router and middlewares."""

import pytest

from apiserver.commands import ChangeStorage, CreateStorage, ListStorages
from apiserver.kube.revision import Revision
from apiserver.operations.result import Accepted, DeletedObject, Outcome
from shared.v1alpha1.gpustorage import Accessor
from shared.v1alpha1.operation import OperationType
from tests.unit.apiserver.fake_services import MemoryStorages
from tests.unit.apiserver.in_process_api import running
from tests.unit.apiserver.objects import a_job, a_storage

STORAGES = "/api/v1/gpu-storages"
BODY = {"operationID": "d-1", "name": "data", "size": "1Gi"}


@pytest.mark.parametrize(("outcome", "status"), [(Outcome.NEW, 201), (Outcome.REPLAY, 200)])
async def test_a_storage_is_answered_with_its_place(outcome: Outcome, status: int) -> None:
    storages = MemoryStorages(accepted=Accepted(a_storage(), outcome))
    async with running(storages=storages) as api:
        answer = await api.post(STORAGES, BODY)
    assert (answer.status, answer.headers["Location"]) == (status, f"{STORAGES}/data")
    assert answer.json["data"]["size"] == "1Gi"
    assert storages.calls == [CreateStorage("d-1", "data", "1Gi")]


async def test_an_unfinished_one_is_answered_with_its_job() -> None:
    job = a_job("d-1", OperationType.CREATE_GPU_STORAGE)
    storages = MemoryStorages(accepted=Accepted(job, Outcome.UNFINISHED))
    async with running(storages=storages) as api:
        answer = await api.post(STORAGES, BODY)
    assert (answer.status, answer.json["data"]["type"]) == (202, "create_gpu_storage")


async def test_a_storage_that_is_gone_is_told_of() -> None:
    gone = DeletedObject("data", "runtime-instance", "u", "d-1")
    async with running(storages=MemoryStorages(accepted=Accepted(gone, Outcome.REPLAY))) as api:
        answer = await api.post(STORAGES, BODY)
    assert (answer.status, answer.json["data"]["deleted"]) == (200, True)


async def test_storages_are_listed_shown_and_deleted() -> None:
    storages = MemoryStorages({"data": a_storage()})
    async with running(storages=storages) as api:
        listed = await api.get(f"{STORAGES}?phase=Ready&label=team%3Da&limit=7")
        assert listed.json["data"][0]["name"] == "data"
        assert (await api.get(f"{STORAGES}?phase=Progressing")).error == "invalid_request"
        assert (await api.get(f"{STORAGES}/data")).headers["ETag"] == '"uid-data.2"'
        assert (await api.delete(f"{STORAGES}/data")).status == 204
        assert (await api.get(f"{STORAGES}/data")).status == 404
    assert storages.calls == [ListStorages("Ready", "team=a", 7)]


async def test_a_storage_is_changed() -> None:
    storages = MemoryStorages({"data": a_storage()})
    body = {"size": "2Gi", "accessor": {"enabled": True}}
    async with running(storages=storages) as api:
        answer = await api.put(f"{STORAGES}/data", body, If_Match='"uid-data.2"')
    assert (answer.status, answer.headers["ETag"]) == (200, '"uid-data.2"')
    seen = (Revision("uid-data", 2),)
    assert storages.calls == [
        ChangeStorage("data", "2Gi", Accessor(enabled=True), if_match=seen),
    ]


async def test_a_recovery_is_accepted_without_a_body() -> None:
    storages = MemoryStorages({"data": a_storage()})
    async with running(storages=storages) as api:
        answer = await api.call("POST", f"{STORAGES}/data/recover", Content_Type="text/plain")
        assert (await api.call("POST", f"{STORAGES}/data/recover?force=1")).status == 400
        assert (await api.get(f"{STORAGES}/data/recover")).headers["Allow"] == "POST"
    assert (answer.status, answer.json["data"]["name"]) == (202, "data")
    assert storages.calls == ["data"]
