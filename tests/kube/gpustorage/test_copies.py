"""A storage that is filled from another one."""

from typing import Any

from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders.gpu_storages import (
    a_storage,
    create,
    fill_at_last,
    filling,
    job,
    job_of,
    lock_by_hand,
    lock_in,
    simulated,
    storage,
    storage_saying,
    storage_with,
    was_filled,
)
from tests.support.builders.paused_pods import HELD
from tests.support.builders.simulated_units import a_users_unit
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, ready_of
from tests.support.wait.eventually import eventually

MOUNTS = [{"name": "source", "mountPath": "/data"}]


def a_copy(run_for: str = "1s") -> dict[str, Any]:
    return simulated("copy", run_for=run_for, prepare={"fromStorageName": "source"})


async def test_a_copy_reads_its_source_and_gives_it_back(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("source"))
        await create(site, a_copy(HELD))
        running = await job_of(site, "copy")
        lock = lock_in(await storage(site, "source"))
        await site.create("gpuunits", a_users_unit("mine", storageMounts=MOUNTS))
        waiting = await site.unit_with("mine", "StorageInUse")
        await fill_at_last(site, "copy")
        await storage_with(site, "copy", "StorageReady")
        await site.unit_with("mine", "UnitReady")

    (container,) = running["spec"]["template"]["spec"]["containers"]
    mounts = {each["mountPath"]: each.get("readOnly", False) for each in container["volumeMounts"]}
    assert container["command"] == ["cp", "-a", "/source/.", "/data/"]
    assert mounts == {"/data": False, "/source": True}
    assert lock is not None
    assert lock.prepare == "copy"
    assert "in use by the filling of GPUStorage copy" in ready_of(waiting)["message"]


async def test_a_copy_waits_for_its_source_to_exist_and_to_be_free(site: Site) -> None:
    async with controlled(site):
        await create(site, a_copy())
        await storage_saying(site, "copy", "GPUStorage source, whose files are to be copied, does")
        await create(site, a_storage("source", storageClassName="late"))
        await storage_saying(site, "copy", "is not ready: it is Pending")
        assert await job(site, "copy") is None


async def test_a_source_in_use_by_a_unit_is_not_copied_until_it_is_free(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("source"))
        await site.create("gpuunits", a_users_unit("mine", storageMounts=MOUNTS))
        await site.unit_with("mine", "UnitReady")
        await create(site, a_copy())
        await storage_saying(site, "copy", "is in use by unit mine")
        assert await job(site, "copy") is None
        await site.admin.delete(site.path("gpuunits", "mine"))
        await storage_with(site, "copy", "StorageReady")


async def test_a_source_that_is_deleted_in_the_middle_stays_until_the_copy_is_made(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, a_storage("source"))
        await create(site, a_copy(HELD))
        await filling(site, "copy", "Running")
        await site.admin.delete(site.path("gpustorages", "source"))
        going = await storage(site, "source")
        await fill_at_last(site, "copy")
        await storage_with(site, "copy", "StorageReady")
        await site.gone("gpustorages", "source")

    assert "deletionTimestamp" in going["metadata"]
    await was_filled(site, "copy", 1)


async def test_a_copy_that_has_succeeded_does_not_miss_its_source(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("source"))
        await create(site, a_copy())
        await storage_with(site, "copy", "StorageReady")
        await eventually(lambda: storage(site, "source"), lambda found: lock_in(found) is None)
        await site.admin.delete(site.path("gpustorages", "source"))
        await site.gone("gpustorages", "source")
        await create(site, a_storage("source"))
        await storage_with(site, "source", "StorageReady")
    async with controlled(site):
        await storage_with(site, "copy", "StorageReady")

    assert await job(site, "copy") is None
    await was_filled(site, "copy", 1)


async def test_the_source_of_a_copy_that_is_deleted_becomes_free(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("source"))
        await create(site, a_copy(HELD))
        await filling(site, "copy", "Running")
        await site.admin.delete(site.path("gpustorages", "copy"))
        await site.gone("gpustorages", "copy")
        await eventually(lambda: storage(site, "source"), lambda found: lock_in(found) is None)


async def no_jobs(site: Site) -> str:
    """The path of a quota that lets no Job in."""
    quotas, jobs = site.path("resourcequotas"), "count/jobs.batch"
    await site.admin.create(quotas, {"metadata": {"name": "no"}, "spec": {"hard": {jobs: "0"}}})
    await eventually(
        lambda: site.admin.get(f"{quotas}/no"),
        lambda quota: jobs in quota["status"].get("used", {}),
    )
    return f"{quotas}/no"


async def test_a_copy_whose_job_is_refused_leaves_its_source_to_others(site: Site) -> None:
    quota = await no_jobs(site)
    async with controlled(site):
        await create(site, a_storage("source"))
        await storage_with(site, "source", "StorageReady")
        made = await create(site, a_copy())
        refused = await storage_with(site, "copy", "PrepareSyncFailed")
        untouched = lock_in(await storage(site, "source"))
        left_over = StorageLock(prepare="copy", uid=made["metadata"]["uid"])
        await lock_by_hand(site, "source", left_over)
        await eventually(lambda: storage(site, "source"), lambda found: lock_in(found) is None)
        await site.admin.delete(quota)
        await storage_with(site, "copy", "StorageReady")

    assert "exceeded quota: no" in ready_of(refused)["message"]
    assert untouched is None
