"""Tests of storage locks: one operation at a time has a storage, across callers and replicas."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from apiserver.errors import ConflictError, ServiceError
from apiserver.kube.port import ListOptions
from apiserver.kube.resources import GPU_UNITS, OPERATIONS
from apiserver.operations.create_object import failed_status
from apiserver.operations.result import OperationResult
from apiserver.units.commands import ChangeUnit, CreateUnit
from apiserver.units.storage_locks import LockDecision, decide_lock
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.storage_lock import StorageLock, parse_storage_lock
from shared.v1alpha1.wellknown import ATTEMPT_ANNOTATION, MOUNT_FINALIZER, MOUNTED_BY_ANNOTATION
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE

LOCK = StorageLock(unit="mine", operation="op")
PREPARE = {"fromImage": "fill:1"}
NO_FILTER = ListOptions()


def create_command(number: int | str, *storages: str) -> CreateUnit:
    mounts = tuple(StorageMount(name=name, mount_path=f"/{name}") for name in storages)
    return CreateUnit(
        operation_id=f"op-{number}",
        name=f"unit-{number}",
        spec_name="g1.1",
        image="a:1",
        storage_mounts=mounts,
    )


def new_storage(
    lock: dict[str, str] | None = None,
    *,
    attempt: str = "",
    deleted: bool = False,
    prepare: str | None = None,
) -> GPUStorage:
    annotations = {MOUNTED_BY_ANNOTATION: json.dumps(lock)} if lock is not None else {}
    metadata: dict[str, Any] = {
        "name": "data",
        "annotations": annotations | ({ATTEMPT_ANNOTATION: attempt} if attempt else {}),
        **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}),
    }
    spec = {"size": "1Gi", **({"prepare": PREPARE} if prepare is not None else {})}
    status = {"prepare": {"phase": prepare}} if prepare else {}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, GPUStorage)


@pytest.mark.parametrize(
    ("storage", "decision"),
    [
        (new_storage(), LockDecision.TAKE),
        (new_storage(deleted=True), LockDecision.REFUSE),
        (new_storage({"unit": "mine", "operation": "op"}), LockDecision.KEEP),
        (new_storage({"unit": "mine", "operation": "op"}, deleted=True), LockDecision.KEEP),
        (new_storage({"unit": "mine", "operation": "op"}, attempt="2"), LockDecision.TAKE),
        (new_storage({"unit": "mine", "operation": "op", "uid": "u"}), LockDecision.REFUSE),
        (new_storage({"unit": "other", "uid": "u"}), LockDecision.REFUSE),
        (new_storage({"unit": "mine", "uid": "u"}), LockDecision.REFUSE),
        (new_storage({"unit": "other", "operation": "op-2"}), LockDecision.REFUSE),
        (new_storage({}), LockDecision.REFUSE),
        (new_storage({"prepare": "copy", "operation": "op"}), LockDecision.REFUSE),
        (
            new_storage({"prepare": "data", "operation": "op"}, prepare="Running"),
            LockDecision.DEFER,
        ),
        (new_storage(prepare=""), LockDecision.DEFER),
        (new_storage(prepare="Failed"), LockDecision.DEFER),
        (new_storage({"unit": "other", "uid": "u"}, prepare="Pending"), LockDecision.REFUSE),
        (new_storage(prepare="Succeeded"), LockDecision.TAKE),
    ],
)
def test_the_holder_of_a_storage_lock_decides_about_the_lock(
    storage: GPUStorage, decision: LockDecision
) -> None:
    assert decide_lock(storage, LOCK, 0) is decision


async def test_a_unit_locks_its_storages_in_name_order() -> None:
    api = ModelApi()
    api.add_stock("s")
    for name in ("b", "a"):
        api.add_storage(name)
    await api.run(api.replicas[0].units.create(create_command(1, "b", "a")))
    versions = [int(api.get_storage(name).metadata.resource_version) for name in ("a", "b")]
    assert versions == sorted(versions)
    locks = [parse_storage_lock(api.get_storage(name).metadata.annotations) for name in ("a", "b")]
    assert locks == [StorageLock(unit="unit-1", operation="op-1")] * 2
    assert api.get_storage("a").metadata.finalizers == (MOUNT_FINALIZER,)


@pytest.mark.parametrize("seed", range(60))
async def test_one_of_several_concurrent_operations_gets_the_storages(seed: int) -> None:
    api = ModelApi(seed=seed, replicas=2)
    api.add_storage("a")
    api.add_storage("b")
    for number in range(3):
        api.add_stock(f"s-{number}")

    async def create(number: int) -> object:
        order = ("a", "b") if number % 2 else ("b", "a")
        replica = api.replicas[number % 2]
        try:
            return await replica.units.create(create_command(number, *order))
        except ServiceError as error:
            return error

    async def race() -> list[object]:
        return await asyncio.gather(*(create(number) for number in range(3)))

    results = await api.run(race())
    successes = [result for result in results if isinstance(result, OperationResult)]
    assert len(successes) == 1
    assert all(isinstance(result, ConflictError) for result in results if result not in successes)
    assert len(api.server.list(GPU_UNITS, INSTANCE_NAMESPACE, NO_FILTER)) == 1
    stock = api.server.list(GPU_UNITS, STOCK_NAMESPACE, NO_FILTER)
    assert sum(map(is_claimed, stock)) == 1, "an operation claimed stock before it had its locks"


def is_claimed(stock_unit: dict[str, Any]) -> bool:
    return bool(stock_unit["metadata"].get("annotations"))


async def test_a_refused_create_names_the_storage_and_its_holder() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data")
    api.patch_storage_metadata(
        "data", annotations={MOUNTED_BY_ANNOTATION: '{"unit":"trainer","uid":"u"}'}
    )
    with pytest.raises(ConflictError, match="'data' is in use by unit trainer"):
        await api.run(api.replicas[0].units.create(create_command(1, "data")))
    operation = api.server.get(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op-1"))
    assert operation["status"]["phase"] == "Failed"


async def test_a_missing_storage_is_refused_before_anything_is_written() -> None:
    api = ModelApi()
    api.add_stock("s")
    with pytest.raises(ConflictError, match="there is no storage 'data'"):
        await api.run(api.replicas[0].units.create(create_command(1, "data")))
    assert not api.server.list(OPERATIONS, SYSTEM_NAMESPACE, NO_FILTER)


async def test_a_replay_succeeds_after_the_storage_was_deleted() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data")
    create = api.replicas[0].units.create
    first = await api.run(create(create_command(1, "data")))
    api.server.delete(GPU_UNITS, INSTANCE_NAMESPACE, "unit-1", "", "")
    del api.server.objects["gpustorages", INSTANCE_NAMESPACE, "data"]
    replay = await api.run(create(create_command(1, "data")))
    assert isinstance(first.value, GPUUnit)
    assert getattr(replay.value, "uid", "") == first.value.metadata.uid


async def test_a_restarted_operation_renews_storage_locks_that_may_be_being_released() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("a")
    api.add_storage("b")
    api.patch_storage_metadata(
        "b", annotations={MOUNTED_BY_ANNOTATION: '{"unit":"trainer","uid":"u"}'}
    )
    create = api.replicas[0].units.create
    with pytest.raises(ConflictError):
        await api.run(create(create_command(1, "a", "b")))
    version_before = api.get_storage("a").metadata.resource_version
    api.patch_storage_metadata("b", annotations={MOUNTED_BY_ANNOTATION: None})
    await api.run(create(create_command(1, "a", "b")))
    assert api.get_storage("a").metadata.resource_version != version_before
    assert api.get_storage("a").metadata.annotations[ATTEMPT_ANNOTATION] == "1"


async def test_a_late_replica_leaves_no_lock_for_a_failed_operation() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data")
    creator = api.replicas[0].units._creator
    command = create_command(1, "data")
    begun, memory = await api.run(creator.begin(command))
    failure = failed_status(ConflictError("another process has failed it"))
    name = names.operation_name("op-1")
    api.server.patch(OPERATIONS, SYSTEM_NAMESPACE, name, {"status": failure}, "status")
    operation = await api.run(creator.finish(begun.operation, command, memory))
    assert operation.status.phase == "Failed"
    assert parse_storage_lock(api.get_storage("data").metadata.annotations) is None
    assert api.get_storage("data").metadata.finalizers == ()


async def test_a_late_replica_does_not_change_the_lock_of_a_unit_created_by_another_replica() -> (
    None
):
    api = ModelApi(replicas=2)
    api.add_stock("s")
    api.add_storage("data")
    command, late_creator = create_command(1, "data"), api.replicas[0].units._creator
    begun, memory = await api.run(late_creator.begin(command))
    result = await api.run(api.replicas[1].units.create(command))
    assert isinstance(result.value, GPUUnit)
    uid = result.value.metadata.uid
    holder = {"unit": "unit-1", "uid": uid, "operation": "op-1", "generation": 1}
    api.patch_storage_metadata("data", annotations={MOUNTED_BY_ANNOTATION: json.dumps(holder)})
    operation = await api.run(late_creator.finish(begun.operation, command, memory))
    assert operation.status.phase == "Succeeded"
    lock = parse_storage_lock(api.get_storage("data").metadata.annotations)
    assert lock is not None
    assert lock.uid == uid
    assert api.get_storage("data").metadata.finalizers == (MOUNT_FINALIZER,)


async def test_a_stalled_replica_keeps_the_lock_of_a_unit_created_by_another_replica() -> None:
    api = ModelApi(replicas=2)
    api.add_stock("s")
    api.add_storage("data")
    command, late_creator = create_command(1, "data"), api.replicas[0].units._creator
    begun, memory = await api.run(late_creator.begin(command))

    async def reread_late(operation: Operation) -> Operation:
        await api.replicas[1].units.create(command)
        return await reread(operation)

    reread = late_creator._operations.reread
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(late_creator._operations, "reread", reread_late)
        operation = await api.run(late_creator.finish(begun.operation, command, memory))
    assert operation.status.phase == "Succeeded"
    assert parse_storage_lock(api.get_storage("data").metadata.annotations) == StorageLock(
        unit="unit-1", operation="op-1"
    )


async def test_a_storage_with_a_pending_prepare_is_not_locked_for_a_unit() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data", prepare=PREPARE)
    await api.run(api.replicas[0].units.create(create_command(1, "data")))
    assert parse_storage_lock(api.get_storage("data").metadata.annotations) is None


@pytest.mark.parametrize(
    ("lock", "is_refused"),
    [
        (None, False),
        ('{"unit":"other","uid":"u"}', True),
        ('{"prepare":"data","uid":"u"}', False),
        ('{"prepare":"copy","uid":"u"}', True),
    ],
)
async def test_a_unit_change_cannot_mount_a_storage_locked_by_another(
    lock: str | None, is_refused: bool
) -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data")
    units = api.replicas[0].units
    await api.run(units.create(create_command(1)))
    api.patch_storage_metadata("data", annotations={MOUNTED_BY_ANNOTATION: lock})
    change = ChangeUnit("unit-1", storage_mounts=create_command(1, "data").storage_mounts)
    if is_refused:
        with pytest.raises(ConflictError, match="'data' is in use by"):
            await api.run(units.change(change))
    else:
        changed = await api.run(units.change(change))
        assert [mount.name for mount in changed.spec.storage_mounts] == ["data"]


async def test_existing_mounts_of_a_unit_are_not_checked_in_a_change() -> None:
    api = ModelApi()
    api.add_stock("s")
    api.add_storage("data")
    units = api.replicas[0].units
    await api.run(units.create(create_command(1, "data")))
    api.patch_storage_metadata(
        "data", annotations={MOUNTED_BY_ANNOTATION: '{"unit":"other","uid":"u"}'}
    )
    mounts = create_command(1, "data", "missing").storage_mounts
    changed = await api.run(units.change(ChangeUnit("unit-1", storage_mounts=mounts)))
    assert len(changed.spec.storage_mounts) == 2
