"""Tests of the storage service on the model of the API server."""

import asyncio
from typing import Any

import msgspec
import pytest

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    OperationConflictError,
    PreconditionFailedError,
    ServiceError,
)
from apiserver.kube.resources import GPU_STORAGES, OPERATIONS, Revision
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.storages.commands import ChangeStorage, CreateStorage, ListStorages
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import AccessorSpec, GPUStorage, PrepareSpec
from shared.v1alpha1.wellknown import (
    MANAGED_BY_LABEL,
    MOUNTED_BY_ANNOTATION,
    OPERATION_ID_ANNOTATION,
    RECOVER_ANNOTATION,
)
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE, SYSTEM_NAMESPACE

COMMAND = CreateStorage(
    "d-1", "data", "1Gi", prepare=PrepareSpec(from_image="fill:1"), labels={"team": "a"}
)
FILLED_BY = {"fromImage": "fill:1"}


def a_class(name: str, *, grows: bool, default: bool = False) -> StorageClass:
    note = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    document = {"metadata": {"name": name, "annotations": note}, "allowVolumeExpansion": grows}
    return msgspec.convert(document, StorageClass)


async def test_a_storage_is_made_once_for_all_requests_of_an_operation() -> None:
    api = ModelApi(replicas=2)

    async def several() -> list[OperationResult[Any]]:
        asked = [api.replicas[number % 2].storages.create(COMMAND) for number in range(4)]
        return list(await asyncio.gather(*asked))

    answers = await api.run(several())
    assert [each.kind for each in answers].count(ResultKind.NEW) == 1
    assert {each.value.metadata.uid for each in answers} == {api.get_storage("data").metadata.uid}
    made = api.get_storage("data")
    assert made.spec.prepare == PrepareSpec(from_image="fill:1")
    assert made.metadata.labels["team"] == "a"
    assert made.metadata.annotations[OPERATION_ID_ANNOTATION] == "d-1"
    record = api.server.get(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("d-1"))
    assert record["status"]["objects"][0]["kind"] == "GPUStorage"


async def test_another_request_of_the_same_operation_is_a_conflict() -> None:
    api = ModelApi()
    create = api.replicas[0].storages.create
    await api.run(create(COMMAND))
    with pytest.raises(OperationConflictError):
        await api.run(create(CreateStorage("d-1", "data", "2Gi")))


async def test_a_replay_reports_a_deleted_storage() -> None:
    api = ModelApi()
    create = api.replicas[0].storages.create
    await api.run(create(COMMAND))
    await api.run(api.replicas[0].storages.delete("data"))
    again = await api.run(create(COMMAND))
    assert again.kind is ResultKind.REPLAY
    assert isinstance(again.value, DeletedObject)


@pytest.mark.parametrize("operation_id", ["", "d-2"])
async def test_a_taken_storage_name_is_reported(operation_id: str) -> None:
    api = ModelApi()
    api.add_storage("data")
    with pytest.raises(AlreadyExistsError, match="another GPUStorage 'data'"):
        await api.run(api.replicas[0].storages.create(CreateStorage(operation_id, "data", "1Gi")))


async def test_without_an_operation_a_storage_is_just_made() -> None:
    api = ModelApi()
    made = await api.run(api.replicas[0].storages.create(CreateStorage("", "data", "1Gi")))
    assert made.kind is ResultKind.NEW
    assert set(api.server.objects) == {("gpustorages", INSTANCE_NAMESPACE, "data")}
    assert api.get_storage("data").metadata.labels == {MANAGED_BY_LABEL: "gpu-runtime"}


async def test_an_operation_that_was_cut_off_is_resumed_as_it_was_settled() -> None:
    api = ModelApi()
    use_cases = api.replicas[0]
    spec = {"size": "1Gi", "accessor": {"enabled": True}}
    await api.run(use_cases.storages._creator._operations.begin(COMMAND, resolved_spec=spec))

    async def twice() -> GPUStorage:
        known = await use_cases.resumer.resume_unfinished(set())
        await use_cases.resumer.resume_unfinished(known)
        accepted = await use_cases.storages.create(COMMAND)
        assert isinstance(accepted.value, GPUStorage)
        return accepted.value

    made = await api.run(twice())
    assert made.spec.accessor == AccessorSpec(enabled=True)


async def test_storages_are_listed_by_phase() -> None:
    api = ModelApi()
    api.add_storage("a", {"phase": "Ready"})
    api.add_storage("b", {"phase": "Failed"})
    page = await api.run(api.replicas[0].storages.list(ListStorages(phase="Ready")))
    assert [each.metadata.name for each in page.items] == ["a"]


async def test_given_fields_of_a_storage_are_changed() -> None:
    api = ModelApi()
    api.add_storage("data", {"capacity": "1Gi"}, accessor={"enabled": True})
    api.patch_storage_metadata("data", labels={"old": "x", MANAGED_BY_LABEL: "gpu-runtime"})
    change = ChangeStorage("data", "2Gi", accessor=None, labels={"new": "y"})
    changed = await api.run(api.replicas[0].storages.change(change))
    assert (changed.spec.size, changed.spec.accessor) == ("2Gi", None)
    assert changed.metadata.labels == {"new": "y", MANAGED_BY_LABEL: "gpu-runtime"}


async def test_a_storage_change_with_a_stale_revision_is_refused() -> None:
    api = ModelApi()
    api.add_storage("data")
    stale = ChangeStorage("data", "2Gi", if_match=(Revision("uid-1", 7),))
    with pytest.raises(PreconditionFailedError):
        await api.run(api.replicas[0].storages.change(stale))


async def test_a_storage_never_shrinks_below_its_capacity() -> None:
    api = ModelApi()
    api.add_storage("data", {"capacity": "2Gi"}, size="3Gi")
    change = api.replicas[0].storages.change
    with pytest.raises(InvalidRequestError) as caught:
        await api.run(change(ChangeStorage("data", "2047Mi")))
    (detail,) = caught.value.details
    assert (detail.field, detail.message) == (
        "size",
        '"2047Mi" is below the capacity, which is 2Gi',
    )
    changed = await api.run(change(ChangeStorage("data", "2048Mi")))
    assert changed.spec.size == "2048Mi"


@pytest.mark.parametrize("capacity", ["", "1Gi"])
async def test_a_size_beyond_all_volumes_can_be_set_back(capacity: str) -> None:
    api = ModelApi()
    api.add_storage("data", {"capacity": capacity}, size="16E")
    changed = await api.run(api.replicas[0].storages.change(ChangeStorage("data", "1Gi")))
    assert changed.spec.size == "1Gi"


@pytest.mark.parametrize(
    ("name", "given", "size", "is_refused"),
    [
        ("fixed", "", "3Gi", True),
        ("fixed", "fixed", "2Gi", False),
        ("fixed", "fixed", "2048Mi", False),
        ("flexible", "", "3Gi", False),
        ("", "", "3Gi", True),
        ("", "flexible", "3Gi", False),
        (None, "", "3Gi", False),
        (None, "fixed", "3Gi", True),
        (None, "flexible", "3Gi", False),
        ("unknown", "", "3Gi", False),
    ],
)
async def test_a_class_that_is_known_not_to_expand(
    name: str | None, given: str, size: str, is_refused: bool
) -> None:
    api = ModelApi()
    api.set_storage_classes(
        a_class("fixed", grows=False, default=True), a_class("flexible", grows=True)
    )
    asked = {} if name is None else {"storageClassName": name}
    status = {"capacity": "2Gi", "storageClassName": given}
    api.add_storage("data", status, size="2Gi", **asked)
    change = api.replicas[0].storages.change(ChangeStorage("data", size))
    if is_refused:
        with pytest.raises(ConflictError, match="cannot grow"):
            await api.run(change)
    else:
        assert (await api.run(change)).spec.size == size


@pytest.mark.parametrize(
    ("lock", "is_refused"),
    [
        ('{"unit":"trainer","uid":"u"}', True),
        ('{"unit":"trainer","operation":"op"}', True),
        ("not JSON", True),
        ('{"prepare":"data","operation":"id"}', False),
        (None, False),
    ],
)
async def test_a_storage_that_is_mounted_is_not_deleted(lock: str | None, is_refused: bool) -> None:
    api = ModelApi()
    api.add_storage("data")
    api.patch_storage_metadata("data", annotations={MOUNTED_BY_ANNOTATION: lock})
    delete = api.replicas[0].storages.delete("data")
    if is_refused:
        with pytest.raises(ConflictError, match="in use by"):
            await api.run(delete)
    else:
        await api.run(delete)
    assert (("gpustorages", INSTANCE_NAMESPACE, "data") in api.server.objects) is is_refused


@pytest.mark.parametrize("seed", range(20))
async def test_a_lock_that_is_taken_meanwhile_wins_over_the_deletion(seed: int) -> None:
    api = ModelApi(seed=seed)
    api.add_storage("data")
    client = api.replicas[0].storages._cluster

    async def lock() -> None:
        storage = await client.get(GPU_STORAGES, INSTANCE_NAMESPACE, "data")
        version = storage.metadata.resource_version
        note = {"resourceVersion": version, "annotations": {MOUNTED_BY_ANNOTATION: '{"unit":"a"}'}}
        await client.patch(GPU_STORAGES, INSTANCE_NAMESPACE, "data", {"metadata": note})

    async def both() -> list[object]:
        work = (lock(), api.replicas[0].storages.delete("data"))
        return list(await asyncio.gather(*work, return_exceptions=True))

    locked, deleted = await api.run(both())
    assert (locked is None) is isinstance(deleted, ConflictError)
    assert (locked is None) is (("gpustorages", INSTANCE_NAMESPACE, "data") in api.server.objects)


@pytest.mark.parametrize(
    ("prepare", "status", "said"),
    [
        (None, {}, "has no prepare"),
        (FILLED_BY, {}, "is Pending"),
        (FILLED_BY, {"prepare": {"phase": "Running"}}, "is Running"),
        (FILLED_BY, {"prepare": {"phase": "Succeeded"}}, "is Succeeded"),
    ],
)
async def test_only_a_failed_prepare_is_recovered(
    prepare: dict[str, str] | None, status: dict[str, Any], said: str
) -> None:
    api = ModelApi()
    api.add_storage("data", status, **({"prepare": prepare} if prepare else {}))
    with pytest.raises(ConflictError, match=said):
        await api.run(api.replicas[0].storages.recover("data"))


@pytest.mark.parametrize("seed", range(10))
async def test_one_of_several_concurrent_recoveries_is_started(seed: int) -> None:
    api = ModelApi(seed=seed, replicas=2)
    api.add_storage("data", {"prepare": {"phase": "Failed"}}, prepare=FILLED_BY)

    async def ask(number: int) -> GPUStorage | ServiceError:
        try:
            return await api.replicas[number].storages.recover("data")
        except ServiceError as error:
            return error

    async def race() -> list[GPUStorage | ServiceError]:
        return list(await asyncio.gather(ask(0), ask(1)))

    answers = await api.run(race())
    assert [isinstance(each, ConflictError) for each in answers].count(True) == 1
    assert api.get_storage("data").metadata.annotations[RECOVER_ANNOTATION].startswith("id-")


async def test_a_prepare_that_failed_again_can_be_recovered_again() -> None:
    api = ModelApi()
    status = {"prepare": {"phase": "Failed", "recoveredBy": "first"}}
    api.add_storage("data", status, prepare=FILLED_BY)
    api.patch_storage_metadata("data", annotations={RECOVER_ANNOTATION: "first"})
    asked = await api.run(api.replicas[0].storages.recover("data"))
    assert asked.metadata.annotations[RECOVER_ANNOTATION] == "id-0"
    with pytest.raises(ConflictError, match="already requested"):
        await api.run(api.replicas[0].storages.recover("data"))


async def test_a_request_that_came_before_the_failure_is_no_recovery_under_way() -> None:
    api = ModelApi()
    status = {"prepare": {"phase": "Failed", "priorRequest": "early"}}
    api.add_storage("data", status, prepare=FILLED_BY)
    api.patch_storage_metadata("data", annotations={RECOVER_ANNOTATION: "early"})
    asked = await api.run(api.replicas[0].storages.recover("data"))
    assert asked.metadata.annotations[RECOVER_ANNOTATION] == "id-0"


async def test_every_action_on_an_absent_storage_is_not_found() -> None:
    api = ModelApi()
    storages = api.replicas[0].storages
    for work in (
        storages.get("data"),
        storages.change(ChangeStorage("data", "1Gi")),
        storages.recover("data"),
        storages.delete("data"),
    ):
        with pytest.raises(NotFoundError):
            await api.run(work)
