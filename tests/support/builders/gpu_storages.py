"""Storages as people write them, on a site, and what becomes of them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hack.cluster.admin_client import RefusedError
from shared.v1alpha1.storage_lock import StorageLock, lock_of
from tests.support.builders.paused_pods import go_on
from tests.support.cluster.isolated_installation import COLLECTION_SECONDS, OURS, Site, ready_of
from tests.support.wait.eventually import eventually

FILL = {"fromImage": "example/fill:1", "command": ["fill"]}


def a_storage(name: str, *, labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A storage of 1Gi; `labels` reach the pods that are made for it."""
    return {
        "apiVersion": OURS.removeprefix("/apis/"),
        "kind": "GPUStorage",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"size": "1Gi", "storageClassName": "sim-now", **spec},
    }


def simulated(name: str, run_for: str = "1s", exit_code: int = 0, **spec: Any) -> dict[str, Any]:
    """A storage that is filled by a pod which ends in a certain way."""
    labels = {
        "sim.local/mode": "exit",
        "sim.local/run-for": run_for,
        "sim.local/exit-code": str(exit_code),
    }
    return a_storage(name, labels=labels, **{"prepare": FILL, **spec})


async def create(site: Site, body: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = await site.create("gpustorages", body)
    return made


async def storage(site: Site, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await site.admin.get(site.path("gpustorages", name))
    return found


async def storage_with(
    site: Site, name: str, reason: str, *, seconds: float = COLLECTION_SECONDS
) -> dict[str, Any]:
    """The storage once its Ready condition has that reason."""
    return await eventually(
        lambda: storage(site, name),
        lambda found: ready_of(found).get("reason") == reason,
        seconds=seconds,
    )


async def storage_saying(site: Site, name: str, text: str) -> dict[str, Any]:
    """The storage once its Ready condition has `text` in its message."""
    return await eventually(
        lambda: storage(site, name), lambda found: text in ready_of(found).get("message", "")
    )


async def filling(
    site: Site, name: str, phase: str, *, seconds: float = COLLECTION_SECONDS
) -> dict[str, Any]:
    """The storage once its filling is in that phase."""
    return await eventually(
        lambda: storage(site, name),
        lambda found: prepare_of(found).get("phase") == phase,
        seconds=seconds,
    )


def prepare_of(found: Mapping[str, Any]) -> Mapping[str, Any]:
    prepare: Mapping[str, Any] = found.get("status", {}).get("prepare", {})
    return prepare


def lock_in(found: Mapping[str, Any]) -> StorageLock | None:
    return lock_of(found["metadata"].get("annotations", {}))


async def change(site: Site, name: str, **spec: Any) -> None:
    """What `kubectl edit` would do to the spec."""
    await site.admin.patch(site.path("gpustorages", name), {"spec": spec})


async def recover(site: Site, name: str, request: str) -> None:
    """What the API does when it is asked to."""
    notes = {"runtime.lokiwager.io/recover": request}
    body = {"metadata": {"annotations": notes}}
    await site.admin.patch(site.path("gpustorages", name), body)


async def job(site: Site, name: str) -> dict[str, Any] | None:
    """The Job that fills the storage, if there is one."""
    try:
        found: dict[str, Any] = await site.admin.get(site.path("jobs", f"prepare-{name}"))
    except RefusedError as error:
        if error.status != 404:
            raise
        return None
    return found


async def job_of(site: Site, name: str) -> dict[str, Any]:
    found = await eventually(lambda: job(site, name))
    assert found is not None
    return found


async def claim(site: Site, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await site.admin.get(site.path("persistentvolumeclaims", name))
    return found


async def prepare_pods(site: Site, name: str) -> list[dict[str, Any]]:
    """All pods that were made to fill the storage and are still there."""
    labels = f"runtime.lokiwager.io/storage={name},app.kubernetes.io/name=gpu-storage-prepare"
    return await site.list("pods", labelSelector=labels)


async def lock_by_hand(site: Site, name: str, lock: StorageLock) -> None:
    """What the API does before it makes a unit."""
    notes = {"runtime.lokiwager.io/mounted-by": msgspec.json.encode(lock).decode()}
    body = {"metadata": {"annotations": notes}}
    await site.admin.patch(site.path("gpustorages", name), body)


async def fillings(site: Site, name: str) -> int:
    """How many pods were ever made to fill the storage, as the job controller tells it."""
    return sum(
        event.get("deprecatedCount") or 1
        for event in await site.list("events")
        if event["reason"] == "SuccessfulCreate"
        and event["regarding"]["kind"] == "Job"
        and event["regarding"]["name"] == f"prepare-{name}"
    )


async def was_filled(site: Site, name: str, times: int) -> None:
    """So many pods were made to fill the storage; what tells of the last may come late."""
    found = await eventually(lambda: fillings(site, name), lambda count: count >= times)
    assert found == times


async def fill_at_last(site: Site, name: str) -> None:
    """Let the pod that fills the storage, and was held, come to its end."""
    await go_on(site, await eventually(lambda: prepare_pods(site, name)), "run-for")


async def finished_job(site: Site, name: str) -> dict[str, Any]:
    """The Job once it has ended, whoever looks after it."""
    found = await eventually(
        lambda: job(site, name),
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


async def delete_job(site: Site, name: str) -> None:
    """What `kubectl delete job` does."""
    await site.admin.request(
        "DELETE", site.path("jobs", f"prepare-{name}"), {"propagationPolicy": "Background"}
    )
