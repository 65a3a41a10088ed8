"""Exclusive mounts: one unit at a time has a storage, and no running unit loses it."""

import asyncio
from random import Random
from typing import Any

import pytest

from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.locks.lock_reconciler import LockReconciler
from controller.kinds import GPU_STORAGES
from controller.object_reader import ObjectReader
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders import api_steps
from tests.support.builders.api_steps import CreateUnitSteps
from tests.support.builders.config_maps import connect_client
from tests.support.builders.gpu_storages import (
    create_storage,
    finish_prepare,
    get_pvc,
    get_storage,
    simulated_prepare_storage,
    storage_lock,
    storage_manifest,
    wait_storage_reason,
    write_storage_lock,
)
from tests.support.builders.pods import PAUSED, is_ready, resume_pods
from tests.support.builders.simulated_units import patch_unit, unit_pods, user_unit_manifest
from tests.support.cluster.caches import UnstartedCaches
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    GARBAGE_COLLECTION_TIMEOUT_SECONDS,
    IsolatedInstallation,
    ready_condition,
)
from tests.support.wait.eventually import eventually


def mounting(name: str, *storages: str) -> dict[str, Any]:
    mounts = [{"name": storage, "mountPath": f"/{storage}"} for storage in storages]
    return user_unit_manifest(name, storageMounts=mounts)


def all_terminating(pods: list[dict[str, Any]]) -> bool:
    return all("deletionTimestamp" in pod["metadata"] for pod in pods)


async def holder(site: IsolatedInstallation, name: str) -> str:
    lock = storage_lock(await get_storage(site, name))
    return "" if lock is None else lock.unit


@pytest.mark.parametrize("storage_class", ["sim-now", "sim-wait"])
async def test_a_unit_locks_the_storage_that_it_mounts(
    installation: IsolatedInstallation, storage_class: str
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", storageClassName=storage_class))
        unit = await installation.create("gpuunits", mounting("mine", "data"))
        await installation.wait_unit_reason("mine", "UnitReady")
        storage = await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: storage["status"].get("mountedBy") == "mine",
        )

    lock = storage_lock(storage)
    assert lock is not None
    assert (lock.unit, lock.uid) == ("mine", unit["metadata"]["uid"])
    assert storage["metadata"]["finalizers"] == ["runtime.lokiwager.io/mount-protection"]


async def test_two_units_race_for_one_storage_and_run_one_after_the_other(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two"):
                group.create_task(installation.create("gpuunits", mounting(name, "data")))
        winner = await eventually(lambda: holder(installation, "data"))
        loser = "two" if winner == "one" else "one"
        await installation.wait_unit_reason(winner, "UnitReady")
        waiting = await installation.wait_unit_reason(loser, "StorageInUse")
        assert await unit_pods(installation, loser) == []
        volume = (await get_pvc(installation, "data"))["metadata"]["uid"]
        await installation.admin.delete(installation.path("gpuunits", winner))
        await installation.wait_unit_reason(
            loser, "UnitReady", timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS
        )

    assert waiting["status"]["phase"] == "Progressing"
    assert ready_condition(waiting)["message"] == f"GPUStorage data is in use by unit {winner}"
    assert (await get_pvc(installation, "data"))["metadata"]["uid"] == volume, "the same data"


async def test_a_lock_outlives_its_unit_until_the_last_pod_is_gone(
    installation: IsolatedInstallation,
) -> None:
    slow = mounting("mine", "data")
    slow["metadata"]["labels"] = {"sim.local/stop": "late", "sim.local/stop-for": PAUSED}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", slow)
        await installation.wait_unit_reason("mine", "UnitReady")
        await installation.create("gpuunits", mounting("next", "data"))
        await installation.wait_unit_reason("next", "StorageInUse")
        await installation.admin.delete(installation.path("gpuunits", "mine"))
        await installation.wait_gone("gpuunits", "mine")
        terminating = await eventually(lambda: unit_pods(installation, "mine"), all_terminating)
        lock_holder = await holder(installation, "data")
        await resume_pods(installation, terminating, "stop-for")
        await installation.wait_unit_reason(
            "next", "UnitReady", timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS
        )

    assert len(terminating) == 1
    assert lock_holder == "mine"
    assert await unit_pods(installation, "mine") == []


async def test_a_lock_is_not_released_while_an_uncached_pod_exists(
    installation: IsolatedInstallation,
) -> None:
    slow = mounting("mine", "data")
    slow["metadata"]["labels"] = {"sim.local/stop": "late", "sim.local/stop-for": PAUSED}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", slow)
        await installation.wait_unit_reason("mine", "UnitReady")
    await installation.admin.delete(installation.path("gpuunits", "mine"))
    await installation.wait_gone("gpuunits", "mine")
    pods = await eventually(lambda: unit_pods(installation, "mine"), all_terminating)
    async with connect_client(installation.kubeconfig) as client:
        key = ObjectKey(installation.namespaces.instance, "data")
        reconciler = new_lock_reconciler(installation, client)
        with pytest.raises(StaleCacheError):
            await reconciler.reconcile_lock(await client.get(GPU_STORAGES, key))
        lock_holder = await holder(installation, "data")
        await resume_pods(installation, pods, "stop-for")
        await installation.wait_gone("pods", pods[0]["metadata"]["name"])
        await reconciler.reconcile_lock(await client.get(GPU_STORAGES, key))

    assert lock_holder == "mine"
    assert await holder(installation, "data") == ""


def new_lock_reconciler(site: IsolatedInstallation, client: Client) -> LockReconciler:
    """Create the controller's lock reconciler, with caches that were never filled."""
    clock = SystemClock()
    caches = UnstartedCaches(client, site.namespaces, clock)
    recorder = EventRecorder(client, clock, Random(7), "late", "test")
    lookup = ObjectReader(caches, client, site.namespaces)
    return LockReconciler(caches, lookup, Writer(client, caches.informers), recorder)


async def test_a_removed_lock_is_restored_for_the_unit_whose_pods_use_the_volume(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", mounting("one", "data"))
        await installation.wait_unit_reason("one", "UnitReady")
        await installation.create("gpuunits", mounting("two", "data"))
        await installation.wait_unit_reason("two", "StorageInUse")
        removed = {"metadata": {"annotations": None, "finalizers": None}}
        await installation.admin.patch(installation.path("gpustorages", "data"), removed)
        await eventually(lambda: holder(installation, "data"), lambda unit: unit == "one")
        waiting = await installation.wait_unit_reason("two", "StorageInUse")
        pods = await unit_pods(installation, "two")
        await installation.admin.delete(installation.path("gpuunits", "one"))
        await installation.wait_unit_reason(
            "two", "UnitReady", timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS
        )

    assert "is in use by unit one" in ready_condition(waiting)["message"]
    assert pods == []


async def test_a_unit_that_drops_a_mount_releases_the_lock(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", mounting("mine", "data"))
        await installation.wait_unit_reason("mine", "UnitReady")
        await patch_unit(installation, "mine", storageMounts=None)
        await eventually(
            lambda: get_storage(installation, "data"), lambda storage: storage_lock(storage) is None
        )
        await patch_unit(
            installation, "mine", storageMounts=[{"name": "data", "mountPath": "/data"}]
        )
        await eventually(lambda: holder(installation, "data"), lambda unit: unit == "mine")
        await installation.wait_unit_reason("mine", "UnitReady")


async def test_the_old_pod_of_a_rollout_releases_the_volume_before_the_new_pod_is_ready(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", mounting("mine", "data"))
        await installation.wait_unit_reason("mine", "UnitReady")
        (old,) = await unit_pods(installation, "mine")
        labels = {"sim.local/mode": "never-ready"}
        await installation.admin.patch(
            installation.path("gpuunits", "mine"),
            {"metadata": {"labels": labels}, "spec": {"image": "example/image:2"}},
        )
        await installation.wait_gone("pods", old["metadata"]["name"])
        (new,) = await unit_pods(installation, "mine")

    assert new["spec"]["containers"][0]["image"] == "example/image:2"
    assert not is_ready(new)


async def test_a_deleted_storage_stays_until_its_unit_is_deleted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await installation.create("gpuunits", mounting("mine", "data"))
        await installation.wait_unit_reason("mine", "UnitReady")
        await installation.admin.delete(installation.path("gpustorages", "data"))
        await installation.create("gpuunits", mounting("late", "data"))
        late = await installation.wait_unit_reason("late", "StorageNotReady")
        waiting = await get_storage(installation, "data")
        bound = await get_pvc(installation, "data")
        await installation.admin.delete(installation.path("gpuunits", "mine"))
        await installation.wait_gone("gpustorages", "data")
        await installation.wait_gone("persistentvolumeclaims", "data")

    assert "is being deleted" in ready_condition(late)["message"]
    assert "deletionTimestamp" in waiting["metadata"]
    assert "deletionTimestamp" not in bound["metadata"]


async def test_a_unit_waits_until_all_its_storages_are_free(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        for name in ("a", "b"):
            await create_storage(installation, storage_manifest(name))
            await wait_storage_reason(installation, name, "StorageReady")
        await installation.create("gpuunits", mounting("first", "b"))
        await installation.wait_unit_reason("first", "UnitReady")
        await installation.create("gpuunits", mounting("both", "b", "a"))
        waiting = await installation.wait_unit_reason("both", "StorageInUse")
        await installation.admin.delete(installation.path("gpuunits", "first"))
        await installation.wait_unit_reason(
            "both", "UnitReady", timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS
        )

    assert "GPUStorage b" in ready_condition(waiting)["message"]
    assert [await holder(installation, name) for name in ("a", "b")] == ["both", "both"]


async def test_a_locked_but_unmounted_storage_is_released_when_the_unit_drops_it(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        for name in ("a", "b"):
            await create_storage(installation, storage_manifest(name))
            await wait_storage_reason(installation, name, "StorageReady")
        await installation.create("gpuunits", mounting("first", "b"))
        await installation.wait_unit_reason("first", "UnitReady")
        await installation.create("gpuunits", mounting("both", "a", "b"))
        await installation.wait_unit_reason("both", "StorageInUse")
        holder_before = await holder(installation, "a")
        await patch_unit(installation, "both", storageMounts=[{"name": "b", "mountPath": "/b"}])
        await eventually(
            lambda: get_storage(installation, "a"), lambda storage: storage_lock(storage) is None
        )

    assert holder_before == "both"


async def test_a_lock_of_an_absent_operation_is_released(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await write_storage_lock(installation, "data", StorageLock(unit="mine", operation="lost"))
        await eventually(
            lambda: get_storage(installation, "data"), lambda storage: storage_lock(storage) is None
        )


ORDER = CreateUnitSteps("mine", "order-1", {"metadata": {"name": "warm", "uid": "uid-of-warm"}})


async def test_the_lock_of_an_open_operation_is_kept_until_the_operation_fails(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await api_steps.create_operation(installation, ORDER)
        await write_storage_lock(
            installation, "data", StorageLock(unit="mine", operation="order-1")
        )
        await installation.create("gpuunits", mounting("other", "data"))
        waiting = await installation.wait_unit_reason("other", "StorageInUse")
        await api_steps.write_operation_status(installation, ORDER, {"phase": "Failed"})
        await installation.wait_unit_reason("other", "UnitReady")

    assert ready_condition(waiting)["message"] == "GPUStorage data is in use by unit mine"


async def test_the_unit_of_an_operation_takes_over_its_lock(
    installation: IsolatedInstallation,
) -> None:
    body = mounting("mine", "data")
    body["metadata"]["annotations"] = {"runtime.lokiwager.io/operation-id": "order-1"}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await api_steps.create_operation(installation, ORDER)
        await write_storage_lock(
            installation, "data", StorageLock(unit="mine", operation="order-1")
        )
        unit = await installation.create("gpuunits", body)
        await installation.wait_unit_reason("mine", "UnitReady")
        lock = storage_lock(await get_storage(installation, "data"))

    assert lock is not None
    assert (lock.uid, lock.operation) == (unit["metadata"]["uid"], "order-1")


async def test_a_waiting_unit_keeps_its_storage_after_its_operation_is_deleted(
    installation: IsolatedInstallation,
) -> None:
    body = mounting("mine", "data", "missing")
    body["metadata"]["annotations"] = {"runtime.lokiwager.io/operation-id": "order-1"}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await api_steps.create_operation(installation, ORDER)
        await write_storage_lock(
            installation, "data", StorageLock(unit="mine", operation="order-1")
        )
        unit = await installation.create("gpuunits", body)
        await installation.wait_unit_reason("mine", "StorageNotReady")
        locked = await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: getattr(storage_lock(storage), "uid", ""),
        )
        operation_path = installation.path(
            "operations", ORDER.operation_name, namespace=installation.namespaces.system
        )
        await installation.admin.delete(operation_path)
        await create_storage(installation, storage_manifest("missing"))
        await installation.wait_unit_reason("mine", "UnitReady")

    lock = storage_lock(locked)
    assert lock is not None
    assert lock.uid == unit["metadata"]["uid"]
    assert await holder(installation, "data") == "mine"


async def test_a_lock_may_be_older_than_the_volume(installation: IsolatedInstallation) -> None:
    await create_storage(installation, storage_manifest("data"))
    await api_steps.create_operation(installation, ORDER)
    await write_storage_lock(installation, "data", StorageLock(unit="mine", operation="order-1"))
    async with run_controller(installation):
        storage = await wait_storage_reason(installation, "data", "StorageReady")

    assert storage["status"]["claimName"] == "data"


async def test_a_lock_without_a_uid_is_released_when_its_unit_is_gone(
    installation: IsolatedInstallation,
) -> None:
    deleted_unit = {"kind": "GPUUnit", "namespace": "n", "name": "mine", "uid": "uid-of-mine"}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await api_steps.create_operation(installation, ORDER)
        await write_storage_lock(
            installation, "data", StorageLock(unit="mine", operation="order-1")
        )
        await api_steps.write_operation_status(
            installation, ORDER, {"phase": "Succeeded", "objects": [deleted_unit]}
        )
        await eventually(
            lambda: get_storage(installation, "data"), lambda storage: storage_lock(storage) is None
        )


async def test_a_unit_waits_until_its_storage_is_prepared(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await installation.create("gpuunits", mounting("mine", "data"))
        waiting = await installation.wait_unit_reason("mine", "StorageNotReady")
        await finish_prepare(installation, "data")
        await installation.wait_unit_reason("mine", "UnitReady")

    assert "GPUStorage data is not ready" in ready_condition(waiting)["message"] or (
        "does not exist" in ready_condition(waiting)["message"]
    )
