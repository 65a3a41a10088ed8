"""A storage is filled once: whatever becomes of the Job, success is neither lost nor repeated."""

import pytest

from controller.config import StorageConfig
from controller.gpustorage.resources.prepare_job import RETRIES
from shared.config.duration import Duration
from tests.support.builders.gpu_storages import (
    FILL,
    a_storage,
    change,
    claim,
    create,
    delete_job,
    fill_at_last,
    filling,
    finished_job,
    job,
    job_of,
    lock_in,
    prepare_of,
    prepare_pods,
    recover,
    simulated,
    storage,
    storage_saying,
    storage_with,
    was_filled,
)
from tests.support.builders.paused_pods import HELD
from tests.support.builders.pods import condition, waiting_reason
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, ready_of
from tests.support.wait.eventually import eventually

# A failing attempt is tried once more before it is given up.
EACH_ATTEMPT = RETRIES + 1


async def heal(site: Site, name: str) -> None:
    """From now on the pods that fill the storage end well."""
    await label(site, name, {"sim.local/exit-code": "0"})


async def run_for(site: Site, name: str, span: str) -> None:
    """From now on the pods that fill the storage take so long."""
    await label(site, name, {"sim.local/run-for": span})


async def label(site: Site, name: str, labels: dict[str, str]) -> None:
    await site.admin.patch(site.path("gpustorages", name), {"metadata": {"labels": labels}})


async def waits_for(site: Site, name: str, reason: str) -> None:
    """Until the container that fills the storage waits for that reason."""
    await eventually(
        lambda: prepare_pods(site, name), lambda pods: waiting_reason(pods[0]) == reason
    )


@pytest.mark.parametrize("kind", ["sim-now", "sim-wait"])
async def test_a_storage_is_filled_and_then_ready(site: Site, kind: str) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD, storageClassName=kind))
        running = await job_of(site, "data")
        locked = await storage(site, "data")
        await fill_at_last(site, "data")
        ready = await storage_with(site, "data", "StorageReady")
        await site.gone("jobs", "prepare-data")
        await site.gone("networkpolicies", "prepare-data")
        free = await eventually(lambda: storage(site, "data"), lambda found: not lock_in(found))

    lock = lock_in(locked)
    assert lock is not None
    assert lock.prepare == "data"
    assert running["spec"]["activeDeadlineSeconds"] == 3600
    assert prepare_of(ready)["phase"] == "Succeeded"
    assert "finalizers" not in free["metadata"]
    assert (await claim(site, "data"))["status"]["phase"] == "Bound"
    await was_filled(site, "data", 1)


async def test_what_keeps_a_filling_from_beginning_is_told_and_the_words_do_not_flap(
    site: Site,
) -> None:
    async with controlled(site):
        body = a_storage("data", labels={"sim.local/mode": "image-pull"}, prepare=FILL)
        await create(site, body)
        told = await storage_saying(site, "data", "ErrImagePull")
        for reason in ("ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
            await waits_for(site, "data", reason)
        later = await storage(site, "data")

    said = "ErrImagePull: failed to pull image example/fill:1: not found"
    assert (ready_of(told)["reason"], ready_of(told)["message"]) == ("NotPrepared", said)
    assert condition(told, "Prepared")["message"] == said
    assert later["metadata"]["resourceVersion"] == told["metadata"]["resourceVersion"]


async def test_a_job_that_is_refused_is_told_of_and_made_later(site: Site) -> None:
    quotas, jobs = site.path("resourcequotas"), "count/jobs.batch"
    await site.admin.create(quotas, {"metadata": {"name": "no"}, "spec": {"hard": {jobs: "0"}}})
    await eventually(
        lambda: site.admin.get(f"{quotas}/no"),
        lambda quota: jobs in quota["status"].get("used", {}),
    )
    async with controlled(site):
        await create(site, simulated("data"))
        refused = await storage_with(site, "data", "PrepareSyncFailed")
        await site.admin.delete(f"{quotas}/no")
        await filling(site, "data", "Succeeded", seconds=60)

    assert refused["status"]["phase"] == "Pending"
    assert "exceeded quota: no" in ready_of(refused)["message"]


async def test_a_failure_is_told_and_waits_for_a_request(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", exit_code=3))
        failed = await storage_with(site, "data", "PrepareFailed")
        await eventually(
            lambda: job_of(site, "data"), lambda kept: not kept["metadata"].get("finalizers")
        )
        events = await eventually(
            lambda: site.list("events"),
            lambda found: any(event["reason"] == "PrepareFailed" for event in found),
        )

    assert failed["status"]["phase"] == "Failed"
    assert "BackoffLimitExceeded" in ready_of(failed)["message"]
    assert "exit code 3" in ready_of(failed)["message"]
    assert [event["type"] for event in events if event["reason"] == "PrepareFailed"] == ["Warning"]


async def test_a_request_to_recover_begins_one_new_attempt(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", exit_code=1))
        await storage_with(site, "data", "PrepareFailed")
        before = await job_of(site, "data")
        await heal(site, "data")
        await recover(site, "data", "r1")
        ready = await storage_with(site, "data", "StorageReady")
        await site.gone("jobs", "prepare-data")
        await was_filled(site, "data", EACH_ATTEMPT + 1)
        await recover(site, "data", "r2")
        await change(site, "data", accessor={"enabled": False})
        seen = await eventually(
            lambda: storage(site, "data"), lambda found: found["status"]["observedGeneration"] == 2
        )

    assert prepare_of(ready)["recoveredBy"] == "r1"
    assert prepare_of(ready)["recoveryPhase"] == "Succeeded"
    assert before["metadata"]["annotations"]["runtime.lokiwager.io/recover"] == ""
    assert prepare_of(seen) == prepare_of(ready), "what has succeeded is not recovered"
    await was_filled(site, "data", EACH_ATTEMPT + 1)


async def test_the_same_request_to_recover_is_acted_on_once(site: Site) -> None:
    deadline = StorageConfig(prepare_deadline=Duration(1))
    async with controlled(site, storage=deadline):
        await create(site, simulated("data", run_for=HELD))
        await storage_with(site, "data", "PrepareFailed")
        await recover(site, "data", "r1")
        await eventually(
            lambda: storage(site, "data"),
            lambda found: prepare_of(found).get("recoveryPhase") == "Failed",
        )
        second = await job_of(site, "data")
        await recover(site, "data", "r1")
        await change(site, "data", size="2Gi")
        await eventually(
            lambda: storage(site, "data"), lambda found: found["status"]["capacity"] == "2Gi"
        )
        left = await job_of(site, "data")

    assert left["metadata"]["uid"] == second["metadata"]["uid"]


async def test_a_filling_has_a_deadline(site: Site) -> None:
    deadline = StorageConfig(prepare_deadline=Duration(2))
    async with controlled(site, storage=deadline):
        await create(site, simulated("data", run_for=HELD))
        failed = await storage_with(site, "data", "PrepareFailed")

    assert "DeadlineExceeded" in ready_of(failed)["message"]


async def test_a_job_that_is_deleted_unfinished_counts_as_failed(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await filling(site, "data", "Running")
        await delete_job(site, "data")
        failed = await storage_with(site, "data", "PrepareFailed")
        await site.gone("jobs", "prepare-data")
        await run_for(site, "data", "1s")
        await recover(site, "data", "r1")
        await storage_with(site, "data", "StorageReady")

    assert "deleted before it had finished" in ready_of(failed)["message"]
    await was_filled(site, "data", 2)


@pytest.mark.parametrize("ending", ["by hand", "by its time to live"])
async def test_a_job_that_is_deleted_after_its_success_has_succeeded(
    site: Site, ending: str
) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await job_of(site, "data")
    await fill_at_last(site, "data")
    await finished_job(site, "data")
    if ending == "by hand":
        await delete_job(site, "data")
    else:
        path = site.path("jobs", "prepare-data")
        await site.admin.patch(path, {"spec": {"ttlSecondsAfterFinished": 0}})
    await eventually(
        lambda: job_of(site, "data"), lambda found: "deletionTimestamp" in found["metadata"]
    )
    async with controlled(site):
        await storage_with(site, "data", "StorageReady")
        await site.gone("jobs", "prepare-data")

    await was_filled(site, "data", 1)


async def test_a_restart_of_the_controller_repeats_nothing(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data"))
        await storage_with(site, "data", "StorageReady")
        await site.gone("jobs", "prepare-data")
    async with controlled(site):
        await change(site, "data", size="2Gi")
        await eventually(
            lambda: storage(site, "data"), lambda found: found["status"]["capacity"] == "2Gi"
        )

    assert await job(site, "data") is None
    await was_filled(site, "data", 1)


async def test_a_job_that_vanishes_against_all_rules_is_not_taken_for_a_success(
    site: Site,
) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await filling(site, "data", "Running")
    path = site.path("jobs", "prepare-data")
    await site.admin.patch(path, {"metadata": {"finalizers": None}})
    await site.admin.delete(path)
    await site.gone("jobs", "prepare-data")
    async with controlled(site):
        failed = await storage_with(site, "data", "PrepareFailed")

    assert "vanished before its outcome was known" in ready_of(failed)["message"]
    await was_filled(site, "data", 1)


async def test_a_storage_that_is_deleted_while_it_is_filled_goes(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await filling(site, "data", "Running")
        await site.admin.delete(site.path("gpustorages", "data"))
        await site.gone("gpustorages", "data")
        await site.gone("jobs", "prepare-data")
        await site.gone("persistentvolumeclaims", "data")


async def test_a_job_whose_storage_was_torn_away_is_let_go(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await filling(site, "data", "Running")
    path = site.path("gpustorages", "data")
    await site.admin.patch(path, {"metadata": {"finalizers": None}})
    await site.admin.delete(path)
    await site.gone("gpustorages", "data")
    async with controlled(site):
        await site.gone("jobs", "prepare-data")


async def test_a_storage_cannot_be_a_copy_of_itself(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", prepare={"fromStorageName": "data"}))
        found = await storage_with(site, "data", "InvalidSpec")

    assert found["status"]["phase"] == "Failed"


async def test_pods_that_were_left_behind_are_waited_for(site: Site) -> None:
    """As by `kubectl delete job --cascade=orphan`: two must never write at once."""
    async with controlled(site):
        await create(site, simulated("data", run_for=HELD))
        await filling(site, "data", "Running")
        await site.admin.request(
            "DELETE", site.path("jobs", "prepare-data"), {"propagationPolicy": "Orphan"}
        )
        await storage_with(site, "data", "PrepareFailed")
        await run_for(site, "data", "1s")
        await recover(site, "data", "r1")
        await storage_saying(site, "data", "the pods of an earlier attempt have not gone yet")
        await fill_at_last(site, "data")
        await storage_with(site, "data", "StorageReady")

    await was_filled(site, "data", 2)
