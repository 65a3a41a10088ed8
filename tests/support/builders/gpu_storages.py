"""Storages as people write them, on a site, and what becomes of them."""

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
    """A storage of 1Gi; `labels` reach the pods that are made for it."""
    return {
        "apiVersion": PRODUCT_API_PATH.removeprefix("/apis/"),
        "kind": "GPUStorage",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"size": "1Gi", "storageClassName": "sim-now", **spec},
    }


def simulated_prepare_storage(
    name: str, run_for: str = "1s", exit_code: int = 0, **spec: Any
) -> dict[str, Any]:
    """A storage that is filled by a pod which ends in a certain way."""
    labels = {
        "sim.local/mode": "exit",
        "sim.local/run-for": run_for,
        "sim.local/exit-code": str(exit_code),
    }
    return storage_manifest(name, labels=labels, **{"prepare": PREPARE_FROM_IMAGE, **spec})


async def create_storage(
    installation: IsolatedInstallation, body: Mapping[str, Any]
) -> dict[str, Any]:
    made: dict[str, Any] = await installation.create("gpustorages", body)
    return made


async def get_storage(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await installation.admin.get(installation.path("gpustorages", name))
    return found


async def wait_storage_reason(
    installation: IsolatedInstallation,
    name: str,
    reason: str,
    *,
    timeout_seconds: float = GARBAGE_COLLECTION_TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """The storage once its Ready condition has that reason."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda found: ready_condition(found).get("reason") == reason,
        timeout_seconds=timeout_seconds,
    )


async def wait_storage_message(
    installation: IsolatedInstallation, name: str, text: str
) -> dict[str, Any]:
    """The storage once its Ready condition has `text` in its message."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda found: text in ready_condition(found).get("message", ""),
    )


async def wait_prepare_phase(
    installation: IsolatedInstallation,
    name: str,
    phase: str,
    *,
    timeout_seconds: float = GARBAGE_COLLECTION_TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """The storage once its filling is in that phase."""
    return await eventually(
        lambda: get_storage(installation, name),
        lambda found: prepare_status(found).get("phase") == phase,
        timeout_seconds=timeout_seconds,
    )


def prepare_status(storage: Mapping[str, Any]) -> Mapping[str, Any]:
    prepare: Mapping[str, Any] = storage.get("status", {}).get("prepare", {})
    return prepare


def storage_lock(storage: Mapping[str, Any]) -> StorageLock | None:
    return parse_storage_lock(storage["metadata"].get("annotations", {}))


async def patch_storage(installation: IsolatedInstallation, name: str, **spec: Any) -> None:
    """What `kubectl edit` would do to the spec."""
    await installation.admin.patch(installation.path("gpustorages", name), {"spec": spec})


async def request_recovery(installation: IsolatedInstallation, name: str, request: str) -> None:
    """What the API does when it is asked to."""
    notes = {"runtime.lokiwager.io/recover": request}
    body = {"metadata": {"annotations": notes}}
    await installation.admin.patch(installation.path("gpustorages", name), body)


async def find_prepare_job(installation: IsolatedInstallation, name: str) -> dict[str, Any] | None:
    """The Job that fills the storage, if there is one."""
    try:
        found: dict[str, Any] = await installation.admin.get(
            installation.path("jobs", f"prepare-{name}")
        )
    except ApiStatusError as error:
        if error.status != 404:
            raise
        return None
    return found


async def wait_prepare_job(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    found = await eventually(lambda: find_prepare_job(installation, name))
    assert found is not None
    return found


async def get_pvc(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await installation.admin.get(
        installation.path("persistentvolumeclaims", name)
    )
    return found


async def prepare_pods(installation: IsolatedInstallation, name: str) -> list[dict[str, Any]]:
    """All pods that were made to fill the storage and are still there."""
    labels = f"runtime.lokiwager.io/storage={name},app.kubernetes.io/name=gpu-storage-prepare"
    return await installation.list("pods", labelSelector=labels)


async def write_storage_lock(
    installation: IsolatedInstallation, name: str, lock: StorageLock
) -> None:
    """What the API does before it makes a unit."""
    notes = {"runtime.lokiwager.io/mounted-by": msgspec.json.encode(lock).decode()}
    body = {"metadata": {"annotations": notes}}
    await installation.admin.patch(installation.path("gpustorages", name), body)


async def count_prepare_pods(installation: IsolatedInstallation, name: str) -> int:
    """How many pods were ever made to fill the storage, as the job controller tells it."""
    return sum(
        event.get("deprecatedCount") or 1
        for event in await installation.list("events")
        if event["reason"] == "SuccessfulCreate"
        and event["regarding"]["kind"] == "Job"
        and event["regarding"]["name"] == f"prepare-{name}"
    )


async def assert_prepare_pods(installation: IsolatedInstallation, name: str, times: int) -> None:
    """So many pods were made to fill the storage; what tells of the last may come late."""
    found = await eventually(
        lambda: count_prepare_pods(installation, name), lambda count: count >= times
    )
    assert found == times


async def finish_prepare(installation: IsolatedInstallation, name: str) -> None:
    """Let the pod that fills the storage, and was held, come to its end."""
    await resume_pods(
        installation, await eventually(lambda: prepare_pods(installation, name)), "run-for"
    )


async def wait_finished_job(installation: IsolatedInstallation, name: str) -> dict[str, Any]:
    """The Job once it has ended, whoever looks after it."""
    found = await eventually(
        lambda: find_prepare_job(installation, name),
        lambda found: (
            found is not None
            and any(
                each["type"] in ("Complete", "Failed") and each["status"] == "True"
                for each in found["status"].get("conditions", [])
            )
        ),
    )
    assert found is not None
    return found


async def delete_prepare_job(installation: IsolatedInstallation, name: str) -> None:
    """What `kubectl delete job` does."""
    await installation.admin.request(
        "DELETE", installation.path("jobs", f"prepare-{name}"), {"propagationPolicy": "Background"}
    )
