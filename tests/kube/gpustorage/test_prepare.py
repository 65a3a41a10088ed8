"""The prepare of a storage: after any fate of the Job, a success is neither lost nor repeated."""

import pytest

from controller.config import StorageConfig
from controller.gpustorage.resources.prepare_job import BACKOFF_LIMIT
from shared.config.duration import Duration
from tests.support.builders.gpu_storages import (
    PREPARE_FROM_IMAGE,
    assert_prepare_pods,
    create_storage,
    delete_prepare_job,
    find_prepare_job,
    finish_prepare,
    get_pvc,
    get_storage,
    patch_storage,
    prepare_pods,
    prepare_status,
    request_recovery,
    simulated_prepare_storage,
    storage_lock,
    storage_manifest,
    wait_finished_job,
    wait_prepare_job,
    wait_prepare_phase,
    wait_storage_message,
    wait_storage_reason,
)
from tests.support.builders.pods import PAUSED, condition, waiting_reason
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, ready_condition
from tests.support.wait.eventually import eventually

# A failing attempt is retried once before the prepare fails.
PODS_OF_A_FAILED_ATTEMPT = BACKOFF_LIMIT + 1


async def heal(site: IsolatedInstallation, name: str) -> None:
    """Let the pods that prepare the storage succeed from now on."""
    await label(site, name, {"sim.local/exit-code": "0"})


async def run_for(site: IsolatedInstallation, name: str, span: str) -> None:
    """Set how long the pods that prepare the storage run from now on."""
    await label(site, name, {"sim.local/run-for": span})


async def label(site: IsolatedInstallation, name: str, labels: dict[str, str]) -> None:
    await site.admin.patch(site.path("gpustorages", name), {"metadata": {"labels": labels}})


async def waits_for(site: IsolatedInstallation, name: str, reason: str) -> None:
    """Wait until the container that prepares the storage is waiting for that reason."""
    await eventually(
        lambda: prepare_pods(site, name), lambda pods: waiting_reason(pods[0]) == reason
    )


@pytest.mark.parametrize("kind", ["sim-now", "sim-wait"])
async def test_a_storage_is_prepared_and_then_ready(
    installation: IsolatedInstallation, kind: str
) -> None:
    async with run_controller(installation):
        await create_storage(
            installation, simulated_prepare_storage("data", run_for=PAUSED, storageClassName=kind)
        )
        running = await wait_prepare_job(installation, "data")
        locked = await get_storage(installation, "data")
        await finish_prepare(installation, "data")
        ready = await wait_storage_reason(installation, "data", "StorageReady")
        await installation.wait_gone("jobs", "prepare-data")
        await installation.wait_gone("networkpolicies", "prepare-data")
        free = await eventually(
            lambda: get_storage(installation, "data"), lambda storage: not storage_lock(storage)
        )

    lock = storage_lock(locked)
    assert lock is not None
    assert lock.prepare == "data"
    assert running["spec"]["activeDeadlineSeconds"] == 3600
    assert prepare_status(ready)["phase"] == "Succeeded"
    assert "finalizers" not in free["metadata"]
    assert (await get_pvc(installation, "data"))["status"]["phase"] == "Bound"
    await assert_prepare_pods(installation, "data", 1)


async def test_a_blocked_prepare_is_reported_with_a_stable_message(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        body = storage_manifest(
            "data", labels={"sim.local/mode": "image-pull"}, prepare=PREPARE_FROM_IMAGE
        )
        await create_storage(installation, body)
        storage = await wait_storage_message(installation, "data", "ErrImagePull")
        for reason in ("ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
            await waits_for(installation, "data", reason)
        later = await get_storage(installation, "data")

    message = "ErrImagePull: failed to pull image example/fill:1: not found"
    assert (ready_condition(storage)["reason"], ready_condition(storage)["message"]) == (
        "NotPrepared",
        message,
    )
    assert condition(storage, "Prepared")["message"] == message
    assert later["metadata"]["resourceVersion"] == storage["metadata"]["resourceVersion"]


async def test_a_refused_prepare_job_is_reported_and_created_later(
    installation: IsolatedInstallation,
) -> None:
    quotas, jobs = installation.path("resourcequotas"), "count/jobs.batch"
    await installation.admin.create(
        quotas, {"metadata": {"name": "no"}, "spec": {"hard": {jobs: "0"}}}
    )
    await eventually(
        lambda: installation.admin.get(f"{quotas}/no"),
        lambda quota: jobs in quota["status"].get("used", {}),
    )
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data"))
        rejected = await wait_storage_reason(installation, "data", "PrepareSyncFailed")
        await installation.admin.delete(f"{quotas}/no")
        await wait_prepare_phase(installation, "data", "Succeeded", timeout_seconds=60)

    assert rejected["status"]["phase"] == "Pending"
    assert "exceeded quota: no" in ready_condition(rejected)["message"]


async def test_a_failed_prepare_is_reported_and_waits_for_a_recover_request(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", exit_code=3))
        failed = await wait_storage_reason(installation, "data", "PrepareFailed")
        await eventually(
            lambda: wait_prepare_job(installation, "data"),
            lambda job: not job["metadata"].get("finalizers"),
        )
        events = await eventually(
            lambda: installation.list("events"),
            lambda events: any(event["reason"] == "PrepareFailed" for event in events),
        )

    assert failed["status"]["phase"] == "Failed"
    assert "BackoffLimitExceeded" in ready_condition(failed)["message"]
    assert "exit code 3" in ready_condition(failed)["message"]
    assert [event["type"] for event in events if event["reason"] == "PrepareFailed"] == ["Warning"]


async def test_a_recover_request_starts_one_new_attempt(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", exit_code=1))
        await wait_storage_reason(installation, "data", "PrepareFailed")
        before = await wait_prepare_job(installation, "data")
        await heal(installation, "data")
        await request_recovery(installation, "data", "r1")
        ready = await wait_storage_reason(installation, "data", "StorageReady")
        await installation.wait_gone("jobs", "prepare-data")
        await assert_prepare_pods(installation, "data", PODS_OF_A_FAILED_ATTEMPT + 1)
        await request_recovery(installation, "data", "r2")
        await patch_storage(installation, "data", accessor={"enabled": False})
        later = await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: storage["status"]["observedGeneration"] == 2,
        )

    assert prepare_status(ready)["recoveredBy"] == "r1"
    assert prepare_status(ready)["recoveryPhase"] == "Succeeded"
    assert before["metadata"]["annotations"]["runtime.lokiwager.io/recover"] == ""
    assert prepare_status(later) == prepare_status(ready), "what has succeeded is not recovered"
    await assert_prepare_pods(installation, "data", PODS_OF_A_FAILED_ATTEMPT + 1)


async def test_a_repeated_recover_request_starts_no_second_attempt(
    installation: IsolatedInstallation,
) -> None:
    deadline = StorageConfig(prepare_deadline=Duration(1))
    async with run_controller(installation, storage=deadline):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_storage_reason(installation, "data", "PrepareFailed")
        await request_recovery(installation, "data", "r1")
        await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: prepare_status(storage).get("recoveryPhase") == "Failed",
        )
        second = await wait_prepare_job(installation, "data")
        await request_recovery(installation, "data", "r1")
        await patch_storage(installation, "data", size="2Gi")
        await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: storage["status"]["capacity"] == "2Gi",
        )
        latest = await wait_prepare_job(installation, "data")

    assert latest["metadata"]["uid"] == second["metadata"]["uid"]


async def test_a_prepare_has_a_deadline(installation: IsolatedInstallation) -> None:
    deadline = StorageConfig(prepare_deadline=Duration(2))
    async with run_controller(installation, storage=deadline):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        failed = await wait_storage_reason(installation, "data", "PrepareFailed")

    assert "DeadlineExceeded" in ready_condition(failed)["message"]


async def test_a_job_that_is_deleted_unfinished_counts_as_failed(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_phase(installation, "data", "Running")
        await delete_prepare_job(installation, "data")
        failed = await wait_storage_reason(installation, "data", "PrepareFailed")
        await installation.wait_gone("jobs", "prepare-data")
        await run_for(installation, "data", "1s")
        await request_recovery(installation, "data", "r1")
        await wait_storage_reason(installation, "data", "StorageReady")

    assert "deleted before it finished" in ready_condition(failed)["message"]
    await assert_prepare_pods(installation, "data", 2)


@pytest.mark.parametrize("ending", ["by hand", "by its time to live"])
async def test_a_job_that_is_deleted_after_its_success_has_succeeded(
    installation: IsolatedInstallation, ending: str
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_job(installation, "data")
    await finish_prepare(installation, "data")
    await wait_finished_job(installation, "data")
    if ending == "by hand":
        await delete_prepare_job(installation, "data")
    else:
        path = installation.path("jobs", "prepare-data")
        await installation.admin.patch(path, {"spec": {"ttlSecondsAfterFinished": 0}})
    await eventually(
        lambda: wait_prepare_job(installation, "data"),
        lambda job: "deletionTimestamp" in job["metadata"],
    )
    async with run_controller(installation):
        await wait_storage_reason(installation, "data", "StorageReady")
        await installation.wait_gone("jobs", "prepare-data")

    await assert_prepare_pods(installation, "data", 1)


async def test_a_restart_of_the_controller_repeats_no_prepare(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await installation.wait_gone("jobs", "prepare-data")
    async with run_controller(installation):
        await patch_storage(installation, "data", size="2Gi")
        await eventually(
            lambda: get_storage(installation, "data"),
            lambda storage: storage["status"]["capacity"] == "2Gi",
        )

    assert await find_prepare_job(installation, "data") is None
    await assert_prepare_pods(installation, "data", 1)


async def test_a_job_that_disappears_without_its_finalizer_counts_as_failed(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_phase(installation, "data", "Running")
    path = installation.path("jobs", "prepare-data")
    await installation.admin.patch(path, {"metadata": {"finalizers": None}})
    await installation.admin.delete(path)
    await installation.wait_gone("jobs", "prepare-data")
    async with run_controller(installation):
        failed = await wait_storage_reason(installation, "data", "PrepareFailed")

    assert "disappeared before its outcome was recorded" in ready_condition(failed)["message"]
    await assert_prepare_pods(installation, "data", 1)


async def test_a_storage_can_be_deleted_while_it_is_prepared(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_phase(installation, "data", "Running")
        await installation.admin.delete(installation.path("gpustorages", "data"))
        await installation.wait_gone("gpustorages", "data")
        await installation.wait_gone("jobs", "prepare-data")
        await installation.wait_gone("persistentvolumeclaims", "data")


async def test_the_job_of_a_storage_without_finalizers_is_deleted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_phase(installation, "data", "Running")
    path = installation.path("gpustorages", "data")
    await installation.admin.patch(path, {"metadata": {"finalizers": None}})
    await installation.admin.delete(path)
    await installation.wait_gone("gpustorages", "data")
    async with run_controller(installation):
        await installation.wait_gone("jobs", "prepare-data")


async def test_a_storage_cannot_be_a_copy_of_itself(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await create_storage(
            installation, simulated_prepare_storage("data", prepare={"fromStorageName": "data"})
        )
        storage = await wait_storage_reason(installation, "data", "InvalidSpec")

    assert storage["status"]["phase"] == "Failed"


async def test_a_recovery_waits_for_orphaned_pods_of_the_earlier_attempt(
    installation: IsolatedInstallation,
) -> None:
    """Test orphaned pods, as after `kubectl delete job --cascade=orphan`.

    Two pods must never write at the same time.
    """
    async with run_controller(installation):
        await create_storage(installation, simulated_prepare_storage("data", run_for=PAUSED))
        await wait_prepare_phase(installation, "data", "Running")
        await installation.admin.request(
            "DELETE", installation.path("jobs", "prepare-data"), {"propagationPolicy": "Orphan"}
        )
        await wait_storage_reason(installation, "data", "PrepareFailed")
        await run_for(installation, "data", "1s")
        await request_recovery(installation, "data", "r1")
        await wait_storage_message(
            installation, "data", "pods of an earlier attempt still use the volume"
        )
        await finish_prepare(installation, "data")
        await wait_storage_reason(installation, "data", "StorageReady")

    await assert_prepare_pods(installation, "data", 2)
