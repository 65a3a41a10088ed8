"""One unit at a time has a storage, and no storage is pulled from under a unit."""

import asyncio
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.gpustorage.errors import OvertakenError
from controller.gpustorage.locks.lock_reconciler import Mounts
from controller.kinds import GPU_STORAGES
from controller.object_reader import Lookup
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders import api_steps
from tests.support.builders.api_steps import Order
from tests.support.builders.config_maps import client_of
from tests.support.builders.gpu_storages import (
    a_storage,
    claim,
    create,
    fill_at_last,
    lock_by_hand,
    lock_in,
    simulated,
    storage,
    storage_with,
)
from tests.support.builders.paused_pods import HELD, go_on
from tests.support.builders.pods import is_ready
from tests.support.builders.simulated_units import a_users_unit, change, pods_of
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import COLLECTION_SECONDS, Site, ready_of
from tests.support.wait.eventually import eventually


def mounting(name: str, *storages: str) -> dict[str, Any]:
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in storages]
    return a_users_unit(name, storageMounts=mounts)


def all_are_going(pods: list[dict[str, Any]]) -> bool:
    return all("deletionTimestamp" in pod["metadata"] for pod in pods)


async def holder(site: Site, name: str) -> str:
    lock = lock_in(await storage(site, name))
    return "" if lock is None else lock.unit


@pytest.mark.parametrize("kind", ["sim-now", "sim-wait"])
async def test_a_unit_takes_the_storage_that_it_mounts(site: Site, kind: str) -> None:
    async with controlled(site):
        await create(site, a_storage("data", storageClassName=kind))
        unit = await site.create("gpuunits", mounting("mine", "data"))
        await site.unit_with("mine", "UnitReady")
        found = await eventually(
            lambda: storage(site, "data"),
            lambda found: found["status"].get("mountedBy") == "mine",
        )

    lock = lock_in(found)
    assert lock is not None
    assert (lock.unit, lock.uid) == ("mine", unit["metadata"]["uid"])
    assert found["metadata"]["finalizers"] == ["runtime.lokiwager.io/mount-protection"]


async def test_two_units_race_for_one_storage_and_both_run_in_the_end(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two"):
                group.create_task(site.create("gpuunits", mounting(name, "data")))
        winner = await eventually(lambda: holder(site, "data"))
        loser = "two" if winner == "one" else "one"
        await site.unit_with(winner, "UnitReady")
        waiting = await site.unit_with(loser, "StorageInUse")
        assert await pods_of(site, loser) == []
        volume = (await claim(site, "data"))["metadata"]["uid"]
        await site.admin.delete(site.path("gpuunits", winner))
        await site.unit_with(loser, "UnitReady", seconds=COLLECTION_SECONDS)

    assert waiting["status"]["phase"] == "Progressing"
    assert ready_of(waiting)["message"] == f"GPUStorage data is in use by unit {winner}"
    assert (await claim(site, "data"))["metadata"]["uid"] == volume, "the same data"


async def test_a_lock_outlives_its_unit_until_the_last_pod_is_gone(site: Site) -> None:
    slow = mounting("mine", "data")
    slow["metadata"]["labels"] = {"sim.local/stop": "late", "sim.local/stop-for": HELD}
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", slow)
        await site.unit_with("mine", "UnitReady")
        await site.create("gpuunits", mounting("next", "data"))
        await site.unit_with("next", "StorageInUse")
        await site.admin.delete(site.path("gpuunits", "mine"))
        await site.gone("gpuunits", "mine")
        still_there = await eventually(lambda: pods_of(site, "mine"), all_are_going)
        still_held = await holder(site, "data")
        await go_on(site, still_there, "stop-for")
        await site.unit_with("next", "UnitReady", seconds=COLLECTION_SECONDS)

    assert len(still_there) == 1
    assert still_held == "mine"
    assert await pods_of(site, "mine") == []


async def test_a_lock_is_not_given_back_while_a_pod_is_there_that_nobody_has_heard_of(
    site: Site,
) -> None:
    slow = mounting("mine", "data")
    slow["metadata"]["labels"] = {"sim.local/stop": "late", "sim.local/stop-for": HELD}
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", slow)
        await site.unit_with("mine", "UnitReady")
    await site.admin.delete(site.path("gpuunits", "mine"))
    await site.gone("gpuunits", "mine")
    pods = await eventually(lambda: pods_of(site, "mine"), all_are_going)
    async with client_of(site.kubeconfig) as client:
        key = ObjectKey(site.namespaces.instance, "data")
        late = late_mounts(site, client)
        with pytest.raises(OvertakenError):
            await late.settle(await client.get(GPU_STORAGES, key))
        still_held = await holder(site, "data")
        await go_on(site, pods, "stop-for")
        await site.gone("pods", pods[0]["metadata"]["name"])
        await late.settle(await client.get(GPU_STORAGES, key))

    assert still_held == "mine"
    assert await holder(site, "data") == ""


def late_mounts(site: Site, client: Client) -> Mounts:
    """The part of a controller that gives locks back, with caches that were never filled."""
    clock, randomness = SystemClock(), Random(7)
    metrics = InformerMetrics(CollectorRegistry())
    caches = Caches(client, site.namespaces, metrics, clock, randomness)
    recorder = EventRecorder(client, clock, randomness, "late", "test")
    lookup = Lookup(caches, client, site.namespaces)
    return Mounts(caches, lookup, Writer(client, caches.informers), recorder)


async def test_a_lock_that_is_torn_away_comes_back_to_whose_pods_use_the_volume(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", mounting("one", "data"))
        await site.unit_with("one", "UnitReady")
        await site.create("gpuunits", mounting("two", "data"))
        await site.unit_with("two", "StorageInUse")
        torn = {"metadata": {"annotations": None, "finalizers": None}}
        await site.admin.patch(site.path("gpustorages", "data"), torn)
        await eventually(lambda: holder(site, "data"), lambda unit: unit == "one")
        waiting = await site.unit_with("two", "StorageInUse")
        pods = await pods_of(site, "two")
        await site.admin.delete(site.path("gpuunits", "one"))
        await site.unit_with("two", "UnitReady", seconds=COLLECTION_SECONDS)

    assert "is in use by unit one" in ready_of(waiting)["message"]
    assert pods == []


async def test_a_unit_that_mounts_a_storage_no_longer_gives_it_back(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", mounting("mine", "data"))
        await site.unit_with("mine", "UnitReady")
        await change(site, "mine", storageMounts=None)
        await eventually(lambda: storage(site, "data"), lambda found: lock_in(found) is None)
        await change(site, "mine", storageMounts=[{"name": "data", "mountPath": "/data"}])
        await eventually(lambda: holder(site, "data"), lambda unit: unit == "mine")
        await site.unit_with("mine", "UnitReady")


async def test_the_old_pod_of_a_change_leaves_the_volume_before_the_new_one_is_ready(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", mounting("mine", "data"))
        await site.unit_with("mine", "UnitReady")
        (old,) = await pods_of(site, "mine")
        labels = {"sim.local/mode": "never-ready"}
        await site.admin.patch(
            site.path("gpuunits", "mine"),
            {"metadata": {"labels": labels}, "spec": {"image": "example/image:2"}},
        )
        await site.gone("pods", old["metadata"]["name"])
        (new,) = await pods_of(site, "mine")

    assert new["spec"]["containers"][0]["image"] == "example/image:2"
    assert not is_ready(new)


async def test_a_mounted_storage_goes_when_its_unit_has_gone(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await site.create("gpuunits", mounting("mine", "data"))
        await site.unit_with("mine", "UnitReady")
        await site.admin.delete(site.path("gpustorages", "data"))
        await site.create("gpuunits", mounting("late", "data"))
        late = await site.unit_with("late", "StorageNotReady")
        waiting = await storage(site, "data")
        bound = await claim(site, "data")
        await site.admin.delete(site.path("gpuunits", "mine"))
        await site.gone("gpustorages", "data")
        await site.gone("persistentvolumeclaims", "data")

    assert "is being deleted" in ready_of(late)["message"]
    assert "deletionTimestamp" in waiting["metadata"]
    assert "deletionTimestamp" not in bound["metadata"]


async def test_several_storages_are_taken_all_or_waited_for(site: Site) -> None:
    async with controlled(site):
        for name in ("a", "b"):
            await create(site, a_storage(name))
            await storage_with(site, name, "StorageReady")
        await site.create("gpuunits", mounting("first", "b"))
        await site.unit_with("first", "UnitReady")
        await site.create("gpuunits", mounting("both", "b", "a"))
        waiting = await site.unit_with("both", "StorageInUse")
        await site.admin.delete(site.path("gpuunits", "first"))
        await site.unit_with("both", "UnitReady", seconds=COLLECTION_SECONDS)

    assert "GPUStorage b" in ready_of(waiting)["message"]
    assert [await holder(site, name) for name in ("a", "b")] == ["both", "both"]


async def test_a_storage_that_was_only_locked_is_given_back_when_the_unit_drops_it(
    site: Site,
) -> None:
    async with controlled(site):
        for name in ("a", "b"):
            await create(site, a_storage(name))
            await storage_with(site, name, "StorageReady")
        await site.create("gpuunits", mounting("first", "b"))
        await site.unit_with("first", "UnitReady")
        await site.create("gpuunits", mounting("both", "a", "b"))
        await site.unit_with("both", "StorageInUse")
        held = await holder(site, "a")
        await change(site, "both", storageMounts=[{"name": "b", "mountPath": "/b"}])
        await eventually(lambda: storage(site, "a"), lambda found: lock_in(found) is None)

    assert held == "both"


async def test_a_lock_of_an_operation_without_a_record_is_given_back(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        await lock_by_hand(site, "data", StorageLock(unit="mine", operation="lost"))
        await eventually(lambda: storage(site, "data"), lambda found: lock_in(found) is None)


ORDER = Order("mine", "order-1", {"metadata": {"name": "warm", "uid": "uid-of-warm"}})


async def test_a_lock_of_an_open_operation_stands_until_it_fails(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        await api_steps.record(site, ORDER)
        await lock_by_hand(site, "data", StorageLock(unit="mine", operation="order-1"))
        await site.create("gpuunits", mounting("other", "data"))
        waiting = await site.unit_with("other", "StorageInUse")
        await api_steps.close(site, ORDER, {"phase": "Failed"})
        await site.unit_with("other", "UnitReady")

    assert ready_of(waiting)["message"] == "GPUStorage data is in use by unit mine"


async def test_the_unit_of_an_operation_takes_its_lock_over(site: Site) -> None:
    body = mounting("mine", "data")
    body["metadata"]["annotations"] = {"runtime.lokiwager.io/operation-id": "order-1"}
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        await api_steps.record(site, ORDER)
        await lock_by_hand(site, "data", StorageLock(unit="mine", operation="order-1"))
        unit = await site.create("gpuunits", body)
        await site.unit_with("mine", "UnitReady")
        lock = lock_in(await storage(site, "data"))

    assert lock is not None
    assert (lock.uid, lock.operation) == (unit["metadata"]["uid"], "order-1")


async def test_a_unit_that_waits_keeps_its_storage_when_its_record_is_swept(site: Site) -> None:
    body = mounting("mine", "data", "missing")
    body["metadata"]["annotations"] = {"runtime.lokiwager.io/operation-id": "order-1"}
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        await api_steps.record(site, ORDER)
        await lock_by_hand(site, "data", StorageLock(unit="mine", operation="order-1"))
        unit = await site.create("gpuunits", body)
        await site.unit_with("mine", "StorageNotReady")
        named = await eventually(
            lambda: storage(site, "data"), lambda found: getattr(lock_in(found), "uid", "")
        )
        record = site.path("operations", ORDER.record_name, namespace=site.namespaces.system)
        await site.admin.delete(record)
        await create(site, a_storage("missing"))
        await site.unit_with("mine", "UnitReady")

    lock = lock_in(named)
    assert lock is not None
    assert lock.uid == unit["metadata"]["uid"]
    assert await holder(site, "data") == "mine"


async def test_a_lock_may_be_older_than_the_volume(site: Site) -> None:
    await create(site, a_storage("data"))
    await api_steps.record(site, ORDER)
    await lock_by_hand(site, "data", StorageLock(unit="mine", operation="order-1"))
    async with controlled(site):
        found = await storage_with(site, "data", "StorageReady")

    assert found["status"]["claimName"] == "data"


async def test_a_lock_whose_unit_is_gone_before_it_was_named_is_given_back(site: Site) -> None:
    gone = {"kind": "GPUUnit", "namespace": "n", "name": "mine", "uid": "uid-of-mine"}
    async with controlled(site):
        await create(site, a_storage("data"))
        await storage_with(site, "data", "StorageReady")
        await api_steps.record(site, ORDER)
        await lock_by_hand(site, "data", StorageLock(unit="mine", operation="order-1"))
        await api_steps.close(site, ORDER, {"phase": "Succeeded", "objects": [gone]})
        await eventually(lambda: storage(site, "data"), lambda found: lock_in(found) is None)


async def test_a_unit_waits_until_its_storage_is_filled(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await site.create("gpuunits", mounting("mine", "data"))
        waiting = await site.unit_with("mine", "StorageNotReady")
        await fill_at_last(site, "data")
        await site.unit_with("mine", "UnitReady")

    assert "GPUStorage data is not ready" in ready_of(waiting)["message"] or (
        "does not exist" in ready_of(waiting)["message"]
    )
