"""Tests of lock acquisition: a unit takes its storages' locks one by one, against other writers."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from controller.gpuunit.observation import observe_unit
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.storage_mounts import StorageMounts
from controller.kinds import DEPLOYMENTS, PODS, REPLICA_SETS
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Body, Client
from controller.runtime.client.kind import Kind
from controller.runtime.key import ObjectKey
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.storage_lock import StorageLock, parse_storage_lock
from shared.v1alpha1.wellknown import MOUNTED_BY_ANNOTATION, OPERATION_ID_ANNOTATION, UNIT_LABEL
from tests.support.builders.gpu_units import INSTANCE_NAMESPACE, new_unit, unit_settings
from tests.unit.controller.gpustorage.storage_objects import new_storage
from tests.unit.controller.gpuunit.filled_caches import caches_with, with_generation

MOUNTS = [{"name": name, "mountPath": f"/{name}"} for name in ("b", "a")]
UNIT = with_generation(
    new_unit(annotations={OPERATION_ID_ANNOTATION: "op-1"}, storageMounts=MOUNTS), 2
)
OPERATION_LOCK = StorageLock(unit="one", operation="op-1")
LOCK_WITH_UID = StorageLock(unit="one", operation="op-1", uid="uid-of-one")
CONFIRMED_LOCK = msgspec.structs.replace(LOCK_WITH_UID, generation=2)
USING_A = {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}


class LockFixture:
    """Caches that hold the given objects, and a unit that mounts the storages a and b."""

    def __init__(self, before_a_write: Callable[[], None] = lambda: None) -> None:
        self.caches = caches_with(UNIT)
        self.writes: list[str] = []
        self._before = before_a_write
        self._storages = StorageMounts(
            self.caches, Writer(cast(Client, self), self.caches.informers)
        )

    def put(self, kind: Kind[Any], name: str, owner: str = "", **body: Any) -> None:
        """Put an object into the caches; `owner` is the uid of its owner."""
        owners = [{"apiVersion": "v", "kind": "K", "name": "o", "uid": owner, "controller": True}]
        meta = {
            "name": name,
            "namespace": INSTANCE_NAMESPACE,
            "uid": f"uid-of-{name}",
            "resourceVersion": "1",
            "ownerReferences": owners if owner else [],
            **body.pop("metadata", {}),
        }
        item = msgspec.convert({"metadata": meta, **body}, kind.model)
        for informer in self.caches.informers:
            if informer.is_responsible_for(kind, INSTANCE_NAMESPACE):
                informer.observe_write(item)

    def put_storage(self, name: str, lock: StorageLock | None = None, phase: str = "Ready") -> None:
        annotations = (
            {} if lock is None else {MOUNTED_BY_ANNOTATION: msgspec.json.encode(lock).decode()}
        )
        storage = new_storage(
            name,
            metadata={"annotations": annotations, "resourceVersion": "1"},
            status={"phase": phase},
        )
        self.caches.storages.informers[0].observe_write(storage)

    def remove_storage(self, name: str) -> None:
        key = ObjectKey(INSTANCE_NAMESPACE, name)
        self.caches.storages.informers[0].observe_delete(key, f"uid-of-{name}")

    async def patch(self, kind: Kind[Any], key: ObjectKey, body: Body, _: str) -> Any:
        """Apply the patch to the cached storage, as a server would, and return the result."""
        self._before()
        storage = self.caches.storages.get(key)
        assert storage is not None
        self.writes.append(key.name)
        version = {"resourceVersion": str(len(self.writes) + 1)}
        meta = {**msgspec.to_builtins(storage.metadata), **body["metadata"], **version}
        return msgspec.structs.replace(storage, metadata=msgspec.convert(meta, ObjectMeta))

    async def acquire(self, *mounted: str) -> UnitReadiness | None:
        observation = observe_unit(self.caches, unit_settings().namespaces, UNIT)
        return await self._storages.acquire_locks(observation, mounted)

    def lock(self, name: str) -> StorageLock | None:
        storage = self.caches.storages.get(ObjectKey(INSTANCE_NAMESPACE, name))
        return None if storage is None else parse_storage_lock(storage.metadata.annotations)


def reason(waiting: UnitReadiness | None) -> str:
    return "" if waiting is None else waiting.reason


async def test_free_storages_are_locked_for_the_unit() -> None:
    locks = LockFixture()
    for name in ("a", "b"):
        locks.put_storage(name)
    assert await locks.acquire() is None
    assert (locks.lock("a"), locks.lock("b")) == (CONFIRMED_LOCK, CONFIRMED_LOCK)


async def test_a_volume_used_by_other_pods_is_not_locked_although_it_has_no_lock() -> None:
    locks = LockFixture()
    for name in ("a", "b"):
        locks.put_storage(name)
    labels = {"labels": {UNIT_LABEL: "two"}}
    locks.put(PODS, "unit-two-x", "uid-of-a-set", metadata=labels, spec=USING_A)
    waiting = await locks.acquire()
    assert waiting is not None
    assert (waiting.reason, waiting.message) == (
        "StorageInUse",
        "GPUStorage a is in use by unit two",
    )
    assert locks.writes == []


async def test_finished_pods_and_accessors_do_not_block_a_lock() -> None:
    locks = LockFixture()
    for name in ("a", "b"):
        locks.put_storage(name)
    accessor_labels = {"labels": {"app.kubernetes.io/name": "gpu-storage-accessor"}}
    locks.put(PODS, "accessor-a-x", metadata=accessor_labels, spec=USING_A)
    locks.put(PODS, "prepare-a-x", spec=USING_A, status={"phase": "Succeeded"})
    assert await locks.acquire() is None


async def test_a_removed_lock_is_written_again_for_the_unit_whose_pods_use_the_volume() -> None:
    locks = LockFixture()
    for name in ("a", "b"):
        locks.put_storage(name)
    template = {"template": {"spec": USING_A}}
    locks.put(DEPLOYMENTS, "unit-one", "uid-of-one", spec=template)
    locks.put(REPLICA_SETS, "unit-one-1", "uid-of-unit-one", spec={"replicas": 1, **template})
    locks.put(PODS, "unit-one-1-x", "uid-of-unit-one-1", spec=USING_A)
    assert await locks.acquire("a", "b") is None
    assert locks.lock("a") == CONFIRMED_LOCK


async def test_the_lock_of_an_operation_gets_the_uid_of_a_waiting_unit_and_is_confirmed_later() -> (
    None
):
    locks = LockFixture()
    locks.put_storage("a", OPERATION_LOCK)
    assert reason(await locks.acquire()) == "StorageNotReady"
    assert reason(await locks.acquire()) == "StorageNotReady"
    assert locks.lock("a") == LOCK_WITH_UID
    assert locks.writes == ["a"]
    locks.put_storage("b")
    assert await locks.acquire() is None
    assert locks.lock("a") == CONFIRMED_LOCK


async def test_a_unit_whose_lock_has_its_uid_still_waits_for_other_pods() -> None:
    locks = LockFixture()
    locks.put_storage("a", OPERATION_LOCK)
    locks.put_storage("b")
    locks.put(PODS, "other", spec=USING_A)
    assert reason(await locks.acquire()) == "StorageInUse"
    assert locks.lock("a") == LOCK_WITH_UID
    assert reason(await locks.acquire()) == "StorageInUse"


async def test_a_unit_waits_for_a_storage_that_is_deleted_between_two_locks() -> None:
    locks = LockFixture(before_a_write=lambda: locks.remove_storage("b"))
    for name in ("a", "b"):
        locks.put_storage(name)
    waiting = await locks.acquire()
    assert waiting is not None
    assert waiting.message == "GPUStorage b does not exist yet"
