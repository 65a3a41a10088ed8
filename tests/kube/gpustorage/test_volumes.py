"""The volume of a storage: bound, grown, and never shrunk or recreated."""

from random import Random

import pytest

from controller.apply.applier import ChildApplier
from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.volume_reconciler import VolumeReconciler
from controller.kinds import GPU_STORAGES
from controller.object_reader import ObjectReader
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.wiring import storage_settings, unit_settings
from tests.support.builders.config_maps import connect_client
from tests.support.builders.gpu_storages import (
    create_storage,
    get_pvc,
    get_storage,
    patch_storage,
    storage_manifest,
    wait_storage_message,
    wait_storage_reason,
)
from tests.support.builders.simulated_units import user_unit_manifest
from tests.support.cluster.caches import UnstartedCaches
from tests.support.cluster.in_process_controller import controller_config, run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, ready_condition
from tests.support.wait.eventually import eventually


async def test_a_storage_reports_its_bound_volume(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        created = await create_storage(installation, storage_manifest("models"))
        storage = await wait_storage_reason(installation, "models", "StorageReady")
        bound = await get_pvc(installation, "models")

    status = storage["status"]
    assert (status["phase"], status["claimName"], status["capacity"]) == (
        "Ready",
        "models",
        "1Gi",
    )
    assert ready_condition(storage)["message"] == "the volume holds 1Gi"
    assert bound["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert [owner["uid"] for owner in bound["metadata"]["ownerReferences"]] == [
        created["metadata"]["uid"]
    ]


async def test_a_storage_whose_class_waits_for_a_pod_is_ready_without_a_volume(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", storageClassName="sim-wait"))
        storage = await wait_storage_reason(installation, "models", "StorageReady")

    assert (
        ready_condition(storage)["message"] == "the volume will be created when it is first mounted"
    )
    assert "capacity" not in storage["status"]


async def test_a_storage_without_a_class_uses_the_default_of_the_cluster(
    installation: IsolatedInstallation,
) -> None:
    body = storage_manifest("models")
    del body["spec"]["storageClassName"]
    async with run_controller(installation):
        await create_storage(installation, body)
        storage = await wait_storage_reason(installation, "models", "StorageReady")

    assert (await get_pvc(installation, "models"))["spec"]["storageClassName"] == "sim-now"
    assert storage["status"]["storageClassName"] == "sim-now"


async def test_a_missing_class_is_reported_and_used_once_it_exists(
    installation: IsolatedInstallation,
) -> None:
    name = f"late-{installation.namespaces.instance}"
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    spec = {"provisioner": "sim.local/volume", "volumeBindingMode": "Immediate"}
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", storageClassName=name))
        await wait_storage_message(
            installation, "models", f"StorageClass {name} does not exist yet"
        )
        await installation.admin.create(classes, {"metadata": {"name": name}, **spec})
        try:
            await wait_storage_reason(installation, "models", "StorageReady")
        finally:
            await installation.admin.delete(f"{classes}/{name}")


@pytest.mark.parametrize("size", ["3Gi", "3000Mi"])
async def test_a_volume_grows_with_its_storage(
    installation: IsolatedInstallation, size: str
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
        await patch_storage(installation, "models", size=size)
        grown = await eventually(
            lambda: get_storage(installation, "models"),
            lambda storage: storage["status"]["capacity"] == size,
        )
        events = await eventually(
            lambda: installation.list("events"),
            lambda events: any(event["reason"] == "Expanded" for event in events),
        )

    assert grown["status"]["phase"] == "Ready"
    notes = [event["note"] for event in events if event["reason"] == "Expanded"]
    assert notes == [f"the volume grew from 1Gi to {size}"]


async def test_an_unsupported_expansion_is_reported_and_the_size_can_be_reverted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", storageClassName="sim-fixed"))
        await wait_storage_reason(installation, "models", "StorageReady")
        await patch_storage(installation, "models", size="3Gi")
        refused = await wait_storage_reason(installation, "models", "ExpansionNotSupported")
        await patch_storage(installation, "models", size="1Gi")
        await wait_storage_reason(installation, "models", "StorageReady")

    assert refused["status"]["phase"] == "Ready"
    assert (
        "StorageClass sim-fixed does not support expansion" in ready_condition(refused)["message"]
    )


async def test_a_volume_does_not_shrink(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", size="3Gi"))
        await wait_storage_reason(installation, "models", "StorageReady")
        before = await get_pvc(installation, "models")
        await patch_storage(installation, "models", size="1Gi")
        storage = await wait_storage_message(installation, "models", "it cannot shrink to 1Gi")
        after = await get_pvc(installation, "models")

    assert storage["status"]["phase"] == "Ready"
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_an_impossible_size_is_reported_and_can_be_corrected(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", size="16E"))
        refused = await wait_storage_reason(installation, "models", "InvalidSpec")
        await patch_storage(installation, "models", size="1Gi")
        await wait_storage_reason(installation, "models", "StorageReady")

    assert refused["status"]["phase"] == "Failed"
    assert ready_condition(refused)["message"].startswith(
        'spec.size: "16E" is not a Kubernetes quantity'
    )


async def test_a_size_that_grows_before_the_volume_exists_is_applied_afterwards(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models", storageClassName="sim-wait"))
        await wait_storage_reason(installation, "models", "StorageReady")
        await patch_storage(installation, "models", size="2Gi")
        mounts = [{"name": "models", "mountPath": "/models"}]
        await installation.create("gpuunits", user_unit_manifest("mine", storageMounts=mounts))
        await eventually(
            lambda: get_storage(installation, "models"),
            lambda storage: storage["status"].get("capacity") == "2Gi",
        )


async def test_a_manually_deleted_pvc_is_not_recreated(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
        await installation.admin.delete(installation.path("persistentvolumeclaims", "models"))
        await installation.wait_gone("persistentvolumeclaims", "models")
        storage = await wait_storage_message(installation, "models", "and its data were deleted")

    assert (storage["status"]["phase"], ready_condition(storage)["reason"]) == (
        "Failed",
        "VolumeLost",
    )
    assert await installation.list("persistentvolumeclaims") == []


async def test_a_new_leader_with_an_old_cache_does_not_report_a_lost_volume(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
    async with connect_client(installation.kubeconfig) as client:
        storage = await client.get(
            GPU_STORAGES, ObjectKey(installation.namespaces.instance, "models")
        )
        with pytest.raises(StaleCacheError):
            await new_volume_reconciler(installation, client).reconcile_volume(storage)


async def test_a_new_leader_with_an_old_cache_does_not_adopt_a_foreign_pvc(
    installation: IsolatedInstallation,
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await installation.create(
        "persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec}
    )
    await create_storage(installation, storage_manifest("models"))
    async with connect_client(installation.kubeconfig) as client:
        storage = await client.get(
            GPU_STORAGES, ObjectKey(installation.namespaces.instance, "models")
        )
        with pytest.raises(StaleCacheError):
            await new_volume_reconciler(installation, client).reconcile_volume(storage)

    assert "ownerReferences" not in (await get_pvc(installation, "models"))["metadata"]


def new_volume_reconciler(site: IsolatedInstallation, client: Client) -> VolumeReconciler:
    """Create the controller's volume reconciler, with caches that were never filled."""
    clock = SystemClock()
    caches = UnstartedCaches(client, site.namespaces, clock)
    recorder = EventRecorder(client, clock, Random(7), "late", "test")
    applier = ChildApplier(GPU_STORAGES, Writer(client, caches.informers), recorder)
    config = controller_config(site)
    settings = storage_settings(config.storage, unit_settings(config, site.namespaces))
    return VolumeReconciler(
        caches, ObjectReader(caches, client, site.namespaces), settings, applier
    )


async def test_a_foreign_pvc_is_never_changed(
    installation: IsolatedInstallation,
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    foreign = await installation.create(
        "persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec}
    )
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        storage = await wait_storage_reason(installation, "models", "ChildConflict")
        after = await get_pvc(installation, "models")

    assert storage["status"]["phase"] == "Failed"
    assert after["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert "ownerReferences" not in after["metadata"]


async def test_a_pvc_is_created_as_soon_as_its_name_is_free(
    installation: IsolatedInstallation,
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await installation.create(
        "persistentvolumeclaims", {"metadata": {"name": "models"}, "spec": spec}
    )
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "ChildConflict")
        await installation.admin.delete(installation.path("persistentvolumeclaims", "models"))
        await wait_storage_reason(installation, "models", "StorageReady")


async def test_a_recreated_storage_has_its_own_volume(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
        first = await get_pvc(installation, "models")
        await installation.admin.delete(installation.path("gpustorages", "models"))
        await installation.wait_gone("gpustorages", "models")
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
        second = await get_pvc(installation, "models")

    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_a_volume_is_deleted_with_its_storage(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("models"))
        await wait_storage_reason(installation, "models", "StorageReady")
        await installation.admin.delete(installation.path("gpustorages", "models"))
        await installation.wait_gone("gpustorages", "models")
        await installation.wait_gone("persistentvolumeclaims", "models")
