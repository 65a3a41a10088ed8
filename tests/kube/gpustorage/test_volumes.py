"""The volume of a storage: bound, grown, and never shrunk or made anew."""

from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.apply.applier import Sync
from controller.caches import Caches
from controller.gpustorage.errors import OvertakenError
from controller.gpustorage.volume_reconciler import Volumes
from controller.kinds import GPU_STORAGES
from controller.object_reader import Lookup
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.wiring import storage_settings, unit_settings
from tests.support.builders.config_maps import client_of
from tests.support.builders.gpu_storages import (
    a_storage,
    change,
    claim,
    create,
    storage,
    storage_saying,
    storage_with,
)
from tests.support.builders.simulated_units import a_users_unit
from tests.support.cluster.in_process_controller import configuration, controlled
from tests.support.cluster.isolated_installation import Site, ready_of
from tests.support.wait.eventually import eventually


async def test_a_storage_has_a_volume_and_says_so(site: Site) -> None:
    async with controlled(site):
        made = await create(site, a_storage("models"))
        found = await storage_with(site, "models", "StorageReady")
        bound = await claim(site, "models")

    status = found["status"]
    assert (status["phase"], status["claimName"], status["capacity"]) == (
        "Ready",
        "models",
        "1Gi",
    )
    assert ready_of(found)["message"] == "the volume holds 1Gi"
    assert bound["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert [owner["uid"] for owner in bound["metadata"]["ownerReferences"]] == [
        made["metadata"]["uid"]
    ]


async def test_a_class_that_waits_for_a_pod_is_ready_without_a_volume(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models", storageClassName="sim-wait"))
        found = await storage_with(site, "models", "StorageReady")

    assert ready_of(found)["message"] == "the volume is made when it is first mounted"
    assert "capacity" not in found["status"]


async def test_without_a_class_the_clusters_default_is_taken(site: Site) -> None:
    body = a_storage("models")
    del body["spec"]["storageClassName"]
    async with controlled(site):
        await create(site, body)
        found = await storage_with(site, "models", "StorageReady")

    assert (await claim(site, "models"))["spec"]["storageClassName"] == "sim-now"
    assert found["status"]["storageClassName"] == "sim-now"


async def test_a_missing_class_is_named_and_picked_up_when_it_appears(site: Site) -> None:
    name = f"late-{site.namespaces.instance}"
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    spec = {"provisioner": "sim.local/volume", "volumeBindingMode": "Immediate"}
    async with controlled(site):
        await create(site, a_storage("models", storageClassName=name))
        await storage_saying(site, "models", f"StorageClass {name} does not exist (yet)")
        await site.admin.create(classes, {"metadata": {"name": name}, **spec})
        try:
            await storage_with(site, "models", "StorageReady")
        finally:
            await site.admin.delete(f"{classes}/{name}")


@pytest.mark.parametrize("size", ["3Gi", "3000Mi"])
async def test_a_volume_grows_with_its_storage(site: Site, size: str) -> None:
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
        await change(site, "models", size=size)
        grown = await eventually(
            lambda: storage(site, "models"), lambda found: found["status"]["capacity"] == size
        )
        events = await eventually(
            lambda: site.list("events"),
            lambda found: any(event["reason"] == "Expanded" for event in found),
        )

    assert grown["status"]["phase"] == "Ready"
    told = [event["note"] for event in events if event["reason"] == "Expanded"]
    assert told == [f"the volume grew from 1Gi to {size}"]


async def test_a_class_that_cannot_grow_says_so_and_the_size_can_be_set_back(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models", storageClassName="sim-fixed"))
        await storage_with(site, "models", "StorageReady")
        await change(site, "models", size="3Gi")
        refused = await storage_with(site, "models", "ExpansionNotSupported")
        await change(site, "models", size="1Gi")
        await storage_with(site, "models", "StorageReady")

    assert refused["status"]["phase"] == "Ready"
    assert "StorageClass sim-fixed cannot grow volumes" in ready_of(refused)["message"]


async def test_a_volume_does_not_shrink(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models", size="3Gi"))
        await storage_with(site, "models", "StorageReady")
        before = await claim(site, "models")
        await change(site, "models", size="1Gi")
        told = await storage_saying(site, "models", "it cannot shrink to 1Gi")
        after = await claim(site, "models")

    assert told["status"]["phase"] == "Ready"
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_a_size_that_no_volume_has_is_told_and_can_be_mended(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models", size="16E"))
        refused = await storage_with(site, "models", "InvalidSpec")
        await change(site, "models", size="1Gi")
        await storage_with(site, "models", "StorageReady")

    assert refused["status"]["phase"] == "Failed"
    assert ready_of(refused)["message"].startswith('spec.size: "16E" is not a Kubernetes quantity')


async def test_a_size_that_grows_before_the_volume_is_there_is_given_afterwards(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, a_storage("models", storageClassName="sim-wait"))
        await storage_with(site, "models", "StorageReady")
        await change(site, "models", size="2Gi")
        mounts = [{"name": "models", "mountPath": "/models"}]
        await site.create("gpuunits", a_users_unit("mine", storageMounts=mounts))
        await eventually(
            lambda: storage(site, "models"),
            lambda found: found["status"].get("capacity") == "2Gi",
        )


async def test_a_volume_that_was_deleted_by_hand_is_not_made_anew(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
        await site.admin.delete(site.path("persistentvolumeclaims", "models"))
        await site.gone("persistentvolumeclaims", "models")
        found = await storage_saying(site, "models", "was deleted, and its data with it")

    assert (found["status"]["phase"], ready_of(found)["reason"]) == ("Failed", "VolumeLost")
    assert await site.list("persistentvolumeclaims") == []


async def test_a_leader_that_has_not_heard_of_a_volume_does_not_take_it_for_lost(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
    async with client_of(site.kubeconfig) as client:
        found = await client.get(GPU_STORAGES, ObjectKey(site.namespaces.instance, "models"))
        with pytest.raises(OvertakenError):
            await late_volumes(site, client).keep(found)


async def test_a_leader_that_has_not_heard_of_somebody_elses_claim_does_not_take_it(
    site: Site,
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await site.create("persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec})
    await create(site, a_storage("models"))
    async with client_of(site.kubeconfig) as client:
        found = await client.get(GPU_STORAGES, ObjectKey(site.namespaces.instance, "models"))
        with pytest.raises(OvertakenError):
            await late_volumes(site, client).keep(found)

    assert "ownerReferences" not in (await claim(site, "models"))["metadata"]


def late_volumes(site: Site, client: Client) -> Volumes:
    """The part of a controller that keeps volumes, with caches that were never filled."""
    clock, randomness = SystemClock(), Random(7)
    metrics = InformerMetrics(CollectorRegistry())
    caches = Caches(client, site.namespaces, metrics, clock, randomness)
    recorder = EventRecorder(client, clock, randomness, "late", "test")
    sync = Sync(GPU_STORAGES, Writer(client, caches.informers), recorder)
    config = configuration(site)
    settings = storage_settings(config.storage, unit_settings(config, site.namespaces))
    return Volumes(caches, Lookup(caches, client, site.namespaces), settings, sync)


async def test_a_claim_of_somebody_else_is_never_touched(site: Site) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    theirs = await site.create(
        "persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec}
    )
    async with controlled(site):
        await create(site, a_storage("models"))
        found = await storage_with(site, "models", "ChildConflict")
        left = await claim(site, "models")

    assert found["status"]["phase"] == "Failed"
    assert left["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert "ownerReferences" not in left["metadata"]


async def test_a_claim_is_made_as_soon_as_its_name_is_free(site: Site) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await site.create("persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec})
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "ChildConflict")
        await site.admin.delete(site.path("persistentvolumeclaims", "models"))
        await storage_with(site, "models", "StorageReady")


async def test_a_storage_of_the_name_of_a_deleted_one_has_its_own_volume(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
        first = await claim(site, "models")
        await site.admin.delete(site.path("gpustorages", "models"))
        await site.gone("gpustorages", "models")
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
        second = await claim(site, "models")

    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_a_volume_goes_with_its_storage(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("models"))
        await storage_with(site, "models", "StorageReady")
        await site.admin.delete(site.path("gpustorages", "models"))
        await site.gone("gpustorages", "models")
        await site.gone("persistentvolumeclaims", "models")
