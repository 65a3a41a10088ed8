"""A storage that is prepared from another storage."""

from typing import Any

from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders.gpu_storages import (
    assert_prepare_pods,
    create_storage,
    find_prepare_job,
    finish_prepare,
    get_storage,
    simulated_prepare_storage,
    storage_lock,
    storage_manifest,
    wait_prepare_job,
    wait_prepare_phase,
    wait_storage_message,
    wait_storage_reason,
    write_storage_lock,
)
from tests.support.builders.pods import PAUSED
from tests.support.builders.simulated_units import user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, ready_condition
from tests.support.wait.eventually import eventually

MOUNTS = [{"name": "source", "mountPath": "/data"}]


def a_copy(run_for: str = "1s") -> dict[str, Any]:
    return simulated_prepare_storage("copy", run_for=run_for, prepare={"fromStorageName": "source"})


async def test_a_copy_locks_its_source_and_releases_it(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await create_storage(installation, a_copy(PAUSED))
        running = await wait_prepare_job(installation, "copy")
        lock = storage_lock(await get_storage(installation, "source"))
        await installation.create("gpuunits", user_unit_manifest("mine", storageMounts=MOUNTS))
        waiting = await installation.wait_unit_reason("mine", "StorageInUse")
        await finish_prepare(installation, "copy")
        await wait_storage_reason(installation, "copy", "StorageReady")
        await installation.wait_unit_reason("mine", "UnitReady")

    (container,) = running["spec"]["template"]["spec"]["containers"]
    mounts = {
        mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]
    }
    assert container["command"] == ["cp", "-a", "/source/.", "/data/"]
    assert mounts == {"/data": False, "/source": True}
    assert lock is not None
    assert lock.prepare == "copy"
    assert "in use by the prepare of GPUStorage copy" in ready_condition(waiting)["message"]


async def test_a_copy_waits_for_its_source_to_exist_and_to_be_free(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, a_copy())
        await wait_storage_message(installation, "copy", "copy source GPUStorage source does")
        await create_storage(installation, storage_manifest("source", storageClassName="late"))
        await wait_storage_message(installation, "copy", "is not ready: its phase is Pending")
        assert await find_prepare_job(installation, "copy") is None


async def test_a_source_in_use_by_a_unit_is_not_copied_until_it_is_free(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await installation.create("gpuunits", user_unit_manifest("mine", storageMounts=MOUNTS))
        await installation.wait_unit_reason("mine", "UnitReady")
        await create_storage(installation, a_copy())
        await wait_storage_message(installation, "copy", "is in use by unit mine")
        assert await find_prepare_job(installation, "copy") is None
        await installation.admin.delete(installation.path("gpuunits", "mine"))
        await wait_storage_reason(installation, "copy", "StorageReady")


async def test_a_source_that_is_deleted_during_a_copy_stays_until_the_copy_is_complete(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await create_storage(installation, a_copy(PAUSED))
        await wait_prepare_phase(installation, "copy", "Running")
        await installation.admin.delete(installation.path("gpustorages", "source"))
        deleted = await get_storage(installation, "source")
        await finish_prepare(installation, "copy")
        await wait_storage_reason(installation, "copy", "StorageReady")
        await installation.wait_gone("gpustorages", "source")

    assert "deletionTimestamp" in deleted["metadata"]
    await assert_prepare_pods(installation, "copy", 1)


async def test_a_finished_copy_does_not_need_its_source(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await create_storage(installation, a_copy())
        await wait_storage_reason(installation, "copy", "StorageReady")
        await eventually(
            lambda: get_storage(installation, "source"),
            lambda storage: storage_lock(storage) is None,
        )
        await installation.admin.delete(installation.path("gpustorages", "source"))
        await installation.wait_gone("gpustorages", "source")
        await create_storage(installation, storage_manifest("source"))
        await wait_storage_reason(installation, "source", "StorageReady")
    async with run_controller(installation):
        await wait_storage_reason(installation, "copy", "StorageReady")

    assert await find_prepare_job(installation, "copy") is None
    await assert_prepare_pods(installation, "copy", 1)


async def test_the_source_of_a_copy_that_is_deleted_becomes_free(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await create_storage(installation, a_copy(PAUSED))
        await wait_prepare_phase(installation, "copy", "Running")
        await installation.admin.delete(installation.path("gpustorages", "copy"))
        await installation.wait_gone("gpustorages", "copy")
        await eventually(
            lambda: get_storage(installation, "source"),
            lambda storage: storage_lock(storage) is None,
        )


async def forbid_jobs(site: IsolatedInstallation) -> str:
    """Create a quota that permits no Job; return its path."""
    quotas, jobs = site.path("resourcequotas"), "count/jobs.batch"
    await site.admin.create(quotas, {"metadata": {"name": "no"}, "spec": {"hard": {jobs: "0"}}})
    await eventually(
        lambda: site.admin.get(f"{quotas}/no"),
        lambda quota: jobs in quota["status"].get("used", {}),
    )
    return f"{quotas}/no"


async def test_a_copy_whose_job_is_rejected_does_not_lock_its_source(
    installation: IsolatedInstallation,
) -> None:
    quota = await forbid_jobs(installation)
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("source"))
        await wait_storage_reason(installation, "source", "StorageReady")
        copy = await create_storage(installation, a_copy())
        rejected = await wait_storage_reason(installation, "copy", "PrepareSyncFailed")
        source_lock = storage_lock(await get_storage(installation, "source"))
        stale_lock = StorageLock(prepare="copy", uid=copy["metadata"]["uid"])
        await write_storage_lock(installation, "source", stale_lock)
        await eventually(
            lambda: get_storage(installation, "source"),
            lambda storage: storage_lock(storage) is None,
        )
        await installation.admin.delete(quota)
        await wait_storage_reason(installation, "copy", "StorageReady")

    assert "exceeded quota: no" in ready_condition(rejected)["message"]
    assert source_lock is None
