"""Manifests of storages, and the objects that an installation creates for them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hack.cluster.admin_client import ApiStatusError
from shared.v1alpha1.storage_lock import StorageLock, parse_storage_lock
from tests.support.builders.pods import resume_pods
from tests.support.cluster.isolated_installation import (
    GARBAGE_COLLECTION_TIMEOUT_SECONDS,
    PRODUCT_API_PATH,
    IsolatedInstallation,
    ready_condition,
)
from tests.support.wait.eventually import eventually

PREPARE_FROM_IMAGE = {"fromImage": "example/fill:1", "command": ["fill"]}


def storage_manifest(
    name: str, *, labels: Mapping[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return the manifest of a storage of 1Gi; its pods get `labels`."""
    return {
        "apiVersion": PRODUCT_API_PATH.removeprefix("/apis/"),
        "kind": "GPUStorage",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"size": "1Gi", "storageClassName": "sim-now", **spec},
    }


def simulated_prepare_storage(
    name: str, run_for: str = "1s", exit_code: int = 0, **spec: Any
) -> dict[str, Any]:
    """Return the manifest of a storage whose prepare pod ends with `exit_code`."""
    labels = {
        "sim.local/mode": "exit",
        "sim.local/run-for": run_for,
        "sim.local/exit-code": str(exit_code),
    }
    return storage_manifest(name, labels=labels, **{"prepare": PREPARE_FROM_IMAGE, **spec})


async def create_storage(
    installation: IsolatedInstallation, body: Mapping[str, Any]
) -> dict[str, Any]:
    storage: dict[str, Any] = await installation.create("gpustorages", body)
    return storage


async def get_storage(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    storage: dict[str, Any] = await installation.admin.get(installation.path("gpustorages", name))
    return storage


async def wait_storage_reason(
    installation: IsolatedInstallation,
    name: str,
    reason: str,
    *,
    timeout_seconds: float = GARBAGE_COLLECTION_TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """Return the storage once its Ready condition has that reason."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda storage: ready_condition(storage).get("reason") == reason,
        timeout_seconds=timeout_seconds,
    )


async def wait_storage_message(
    installation: IsolatedInstallation, name: str, text: str
) -> dict[str, Any]:
    """Return the storage once its Ready condition has `text` in its message."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda storage: text in ready_condition(storage).get("message", ""),
    )


async def wait_prepare_phase(
    installation: IsolatedInstallation,
    name: str,
    phase: str,
    *,
    timeout_seconds: float = GARBAGE_COLLECTION_TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """Return the storage once its prepare is in that phase."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda storage: prepare_status(storage).get("phase") == phase,
        timeout_seconds=timeout_seconds,
    )


def prepare_status(storage: Mapping[str, Any]) -> Mapping[str, Any]:
    prepare: Mapping[str, Any] = storage.get("status", {}).get("prepare", {})
    return prepare


def storage_lock(storage: Mapping[str, Any]) -> StorageLock | None:
    return parse_storage_lock(storage["metadata"].get("annotations", {}))


async def patch_storage(installation: IsolatedInstallation, name: str, **spec: Any) -> None:
    """Change the spec, as `kubectl edit` does."""
    await installation.admin.patch(installation.path("gpustorages", name), {"spec": spec})


async def request_recovery(installation: IsolatedInstallation, name: str, request: str) -> None:
    """Request a recovery, as the API does."""
    annotations = {"runtime.lokiwager.io/recover": request}
    body = {"metadata": {"annotations": annotations}}
    await installation.admin.patch(installation.path("gpustorages", name), body)


async def find_prepare_job(installation: IsolatedInstallation, name: str) -> dict[str, Any] | None:
    """Return the prepare Job of the storage; None when it does not exist."""
    try:
        job: dict[str, Any] = await installation.admin.get(
            installation.path("jobs", f"prepare-{name}")
        )
    except ApiStatusError as error:
        if error.status != 404:
            raise
        return None
    return job


async def wait_prepare_job(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    job = await eventually(lambda: find_prepare_job(installation, name))
    assert job is not None
    return job


async def get_pvc(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    pvc: dict[str, Any] = await installation.admin.get(
        installation.path("persistentvolumeclaims", name)
    )
    return pvc


async def prepare_pods(installation: IsolatedInstallation, name: str) -> list[dict[str, Any]]:
    """Return all prepare pods of the storage that still exist."""
    labels = f"runtime.lokiwager.io/storage={name},app.kubernetes.io/name=gpu-storage-prepare"
    return await installation.list("pods", labelSelector=labels)


async def write_storage_lock(
    installation: IsolatedInstallation, name: str, lock: StorageLock
) -> None:
    """Lock the storage, as the API does before it creates a unit."""
    annotations = {"runtime.lokiwager.io/mounted-by": msgspec.json.encode(lock).decode()}
    body = {"metadata": {"annotations": annotations}}
    await installation.admin.patch(installation.path("gpustorages", name), body)


async def count_prepare_pods(installation: IsolatedInstallation, name: str) -> int:
    """Return how many prepare pods were created, by the Events of the job controller."""
    return sum(
        event.get("deprecatedCount") or 1
        for event in await installation.list("events")
        if event["reason"] == "SuccessfulCreate"
        and event["regarding"]["kind"] == "Job"
        and event["regarding"]["name"] == f"prepare-{name}"
    )


async def assert_prepare_pods(installation: IsolatedInstallation, name: str, times: int) -> None:
    """Assert that `times` prepare pods were created; the Event of the last may come late."""
    created = await eventually(
        lambda: count_prepare_pods(installation, name), lambda count: count >= times
    )
    assert created == times


async def finish_prepare(installation: IsolatedInstallation, name: str) -> None:
    """Let the paused prepare pod run to its end."""
    await resume_pods(
        installation, await eventually(lambda: prepare_pods(installation, name)), "run-for"
    )


async def wait_finished_job(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    """Return the prepare Job once it has completed or failed."""
    job = await eventually(lambda: find_prepare_job(installation, name), is_job_finished)
    assert job is not None
    return job


def is_job_finished(job: Mapping[str, Any] | None) -> bool:
    if job is None:
        return False
    conditions = job["status"].get("conditions", [])
    return any(
        condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
        for condition in conditions
    )


async def delete_prepare_job(installation: IsolatedInstallation, name: str) -> None:
    """Delete the prepare Job, as `kubectl delete job` does."""
    await installation.admin.request(
        "DELETE", installation.path("jobs", f"prepare-{name}"), {"propagationPolicy": "Background"}
    )
