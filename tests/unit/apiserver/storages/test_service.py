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
PREPARE = {"fromImage": "fill:1"}


def new_storage_class(name: str, *, grows: bool, default: bool = False) -> StorageClass:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    document = {
        "metadata": {"name": name, "annotations": annotations},
        "allowVolumeExpansion": grows,
    }
    return msgspec.convert(document, StorageClass)


async def test_a_storage_is_created_once_for_all_requests_of_an_operation() -> None:
    api = ModelApi(replicas=2)

    async def create_concurrently() -> list[OperationResult[Any]]:
        creates = [api.replicas[number % 2].storages.create(COMMAND) for number in range(4)]
        return list(await asyncio.gather(*creates))

    results = await api.run(create_concurrently())
    assert [result.kind for result in results].count(ResultKind.NEW) == 1
    assert {result.value.metadata.uid for result in results} == {
        api.get_storage("data").metadata.uid
    }
    storage = api.get_storage("data")
    assert storage.spec.prepare == PrepareSpec(from_image="fill:1")
    assert storage.metadata.labels["team"] == "a"
    assert storage.metadata.annotations[OPERATION_ID_ANNOTATION] == "d-1"
    operation = api.server.get(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("d-1"))
    assert operation["status"]["objects"][0]["kind"] == "GPUStorage"


async def test_a_different_storage_request_of_the_same_operation_is_a_conflict() -> None:
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
    replay = await api.run(create(COMMAND))
    assert replay.kind is ResultKind.REPLAY
    assert isinstance(replay.value, DeletedObject)


@pytest.mark.parametrize("operation_id", ["", "d-2"])
async def test_a_taken_storage_name_is_reported(operation_id: str) -> None:
    api = ModelApi()
    api.add_storage("data")
    with pytest.raises(AlreadyExistsError, match="another GPUStorage 'data'"):
        await api.run(api.replicas[0].storages.create(CreateStorage(operation_id, "data", "1Gi")))


async def test_a_storage_without_an_operation_id_is_created_without_an_operation() -> None:
    api = ModelApi()
    result = await api.run(api.replicas[0].storages.create(CreateStorage("", "data", "1Gi")))
    assert result.kind is ResultKind.NEW
    assert set(api.server.objects) == {("gpustorages", INSTANCE_NAMESPACE, "data")}
    assert api.get_storage("data").metadata.labels == {MANAGED_BY_LABEL: "gpu-runtime"}


async def test_an_interrupted_storage_create_is_resumed_with_its_recorded_spec() -> None:
    api = ModelApi()
    services = api.replicas[0]
    spec = {"size": "1Gi", "accessor": {"enabled": True}}
    await api.run(services.storages._creator._operations.begin(COMMAND, resolved_spec=spec))

    async def resume_and_create() -> GPUStorage:
        versions = await services.resumer.resume_unfinished(set())
        await services.resumer.resume_unfinished(versions)
        result = await services.storages.create(COMMAND)
        assert isinstance(result.value, GPUStorage)
        return result.value

    storage = await api.run(resume_and_create())
    assert storage.spec.accessor == AccessorSpec(enabled=True)


async def test_storages_are_listed_by_phase() -> None:
    api = ModelApi()
    api.add_storage("a", {"phase": "Ready"})
    api.add_storage("b", {"phase": "Failed"})
    page = await api.run(api.replicas[0].storages.list(ListStorages(phase="Ready")))
    assert [storage.metadata.name for storage in page.items] == ["a"]


async def test_a_storage_change_sets_only_the_present_fields() -> None:
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
async def test_a_size_that_no_volume_reached_can_be_reduced_to_the_capacity(capacity: str) -> None:
    api = ModelApi()
    api.add_storage("data", {"capacity": capacity}, size="16E")
    changed = await api.run(api.replicas[0].storages.change(ChangeStorage("data", "1Gi")))
    assert changed.spec.size == "1Gi"


@pytest.mark.parametrize(
    ("name", "class_of_volume", "size", "is_refused"),
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
async def test_growth_is_refused_if_the_storage_class_is_known_not_to_expand(
    name: str | None, class_of_volume: str, size: str, is_refused: bool
) -> None:
    api = ModelApi()
    api.set_storage_classes(
        new_storage_class("fixed", grows=False, default=True),
        new_storage_class("flexible", grows=True),
    )
    spec = {} if name is None else {"storageClassName": name}
    status = {"capacity": "2Gi", "storageClassName": class_of_volume}
    api.add_storage("data", status, size="2Gi", **spec)
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
async def test_a_mounted_storage_is_not_deleted(lock: str | None, is_refused: bool) -> None:
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
async def test_a_storage_that_is_locked_during_a_delete_is_kept(seed: int) -> None:
    api = ModelApi(seed=seed)
    api.add_storage("data")
    client = api.replicas[0].storages._cluster

    async def lock() -> None:
        storage = await client.get(GPU_STORAGES, INSTANCE_NAMESPACE, "data")
        version = storage.metadata.resource_version
        metadata = {
            "resourceVersion": version,
            "annotations": {MOUNTED_BY_ANNOTATION: '{"unit":"a"}'},
        }
        await client.patch(GPU_STORAGES, INSTANCE_NAMESPACE, "data", {"metadata": metadata})

    async def both() -> list[object]:
        work = (lock(), api.replicas[0].storages.delete("data"))
        return list(await asyncio.gather(*work, return_exceptions=True))

    locked, deleted = await api.run(both())
    assert (locked is None) is isinstance(deleted, ConflictError)
    assert (locked is None) is (("gpustorages", INSTANCE_NAMESPACE, "data") in api.server.objects)


@pytest.mark.parametrize(
    ("prepare", "status", "message"),
    [
        (None, {}, "has no prepare"),
        (PREPARE, {}, "is Pending"),
        (PREPARE, {"prepare": {"phase": "Running"}}, "is Running"),
        (PREPARE, {"prepare": {"phase": "Succeeded"}}, "is Succeeded"),
    ],
)
async def test_only_a_failed_prepare_is_recovered(
    prepare: dict[str, str] | None, status: dict[str, Any], message: str
) -> None:
    api = ModelApi()
    api.add_storage("data", status, **({"prepare": prepare} if prepare else {}))
    with pytest.raises(ConflictError, match=message):
        await api.run(api.replicas[0].storages.recover("data"))


@pytest.mark.parametrize("seed", range(10))
async def test_one_of_several_concurrent_recoveries_is_started(seed: int) -> None:
    api = ModelApi(seed=seed, replicas=2)
    api.add_storage("data", {"prepare": {"phase": "Failed"}}, prepare=PREPARE)

    async def recover(number: int) -> GPUStorage | ServiceError:
        try:
            return await api.replicas[number].storages.recover("data")
        except ServiceError as error:
            return error

    async def race() -> list[GPUStorage | ServiceError]:
        return list(await asyncio.gather(recover(0), recover(1)))

    results = await api.run(race())
    assert [isinstance(result, ConflictError) for result in results].count(True) == 1
    assert api.get_storage("data").metadata.annotations[RECOVER_ANNOTATION].startswith("id-")


async def test_a_prepare_that_failed_again_can_be_recovered_again() -> None:
    api = ModelApi()
    status = {"prepare": {"phase": "Failed", "recoveredBy": "first"}}
    api.add_storage("data", status, prepare=PREPARE)
    api.patch_storage_metadata("data", annotations={RECOVER_ANNOTATION: "first"})
    storage = await api.run(api.replicas[0].storages.recover("data"))
    assert storage.metadata.annotations[RECOVER_ANNOTATION] == "id-0"
    with pytest.raises(ConflictError, match="already requested"):
        await api.run(api.replicas[0].storages.recover("data"))


async def test_a_recovery_request_from_before_the_failure_does_not_block_a_new_one() -> None:
    api = ModelApi()
    status = {"prepare": {"phase": "Failed", "priorRequest": "early"}}
    api.add_storage("data", status, prepare=PREPARE)
    api.patch_storage_metadata("data", annotations={RECOVER_ANNOTATION: "early"})
    storage = await api.run(api.replicas[0].storages.recover("data"))
    assert storage.metadata.annotations[RECOVER_ANNOTATION] == "id-0"


async def test_every_action_on_an_absent_storage_is_not_found() -> None:
    api = ModelApi()
    storages = api.replicas[0].storages
    for action in (
        storages.get("data"),
        storages.change(ChangeStorage("data", "1Gi")),
        storages.recover("data"),
        storages.delete("data"),
    ):
        with pytest.raises(NotFoundError):
            await api.run(action)
