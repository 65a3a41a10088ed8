"""A cluster whose GPUs are all in use, while other pods wait for one."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hack.cluster.admin_client import AdminClient
from tests.support.builders.pods import pod_manifest
from tests.support.cluster.isolated_installation import (
    MAX_WATCH_GAP_SECONDS,
    IsolatedInstallation,
    unit_manifest,
)
from tests.support.wait.eventually import eventually

TOTAL_GPUS = 32
WAITING_PODS = 6


async def fill_cluster(
    installation: IsolatedInstallation, units: list[dict[str, Any]], *, namespace: str = ""
) -> list[dict[str, Any]]:
    """Use every GPU for `units`, then queue other pods and stock; return the ready units."""
    await eventually(lambda: has_no_gpu_pods(installation.admin), timeout_seconds=120)
    await asyncio.gather(
        *(installation.create("gpuunits", unit, namespace=namespace) for unit in units)
    )
    ready = await eventually(
        lambda: ready_units(installation, namespace),
        lambda listed: len(listed) == TOTAL_GPUS,
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    for number in range(WAITING_PODS):
        await installation.create("pods", pod_manifest(f"other-{number}", gpus=1))
        await installation.create(
            "gpuunits", unit_manifest(f"late-{number}"), namespace=installation.namespaces.stock
        )
    await eventually(
        lambda: count_unschedulable_pods(installation),
        lambda count: count == 2 * WAITING_PODS,
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    return ready


def stock_unit_manifests(labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the manifest of a stock unit for each GPU."""
    return [with_labels(unit_manifest(f"stock-{number}"), labels) for number in range(TOTAL_GPUS)]


def user_unit_manifests(labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the manifest of a user's unit for each GPU."""
    return [
        with_labels(unit_manifest(f"u{number}", image="a:1"), labels)
        for number in range(TOTAL_GPUS)
    ]


def with_labels(unit: dict[str, Any], labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {**unit, "metadata": {**unit["metadata"], "labels": dict(labels or {})}}


async def ready_units(
    installation: IsolatedInstallation, namespace: str = ""
) -> list[dict[str, Any]]:
    listed = await installation.list("gpuunits", namespace=namespace)
    return [unit for unit in listed if unit.get("status", {}).get("phase") == "Ready"]


def nodes_of(units: list[dict[str, Any]]) -> dict[str, str]:
    return {unit["metadata"]["name"]: unit["status"]["nodeName"] for unit in units}


async def nominations(installation: IsolatedInstallation) -> dict[str, str]:
    """Return the nominated nodes of pods, by unit."""
    pods = await installation.list("pods", labelSelector="runtime.lokiwager.io/unit")
    return {
        pod["metadata"]["labels"]["runtime.lokiwager.io/unit"]: pod["status"]["nominatedNodeName"]
        for pod in pods
        if "nominatedNodeName" in pod["status"]
    }


async def count_unschedulable_pods(installation: IsolatedInstallation) -> int:
    """Return the number of pods that the scheduler reported as unschedulable."""
    pods = await installation.list("pods") + await installation.list(
        "pods", namespace=installation.namespaces.stock
    )
    return sum(
        any(
            condition.get("reason") == "Unschedulable"
            for condition in pod["status"].get("conditions", ())
        )
        for pod in pods
    )


async def has_no_gpu_pods(admin: AdminClient) -> bool:
    pods = await admin.get("/api/v1/pods")
    return not any("nvidia.com/gpu" in str(pod["spec"]) for pod in pods["items"])


async def scheduled_waiting_pods(installation: IsolatedInstallation) -> list[str]:
    """Return the names of waiting pods that got a GPU."""
    pods = await installation.list("pods") + await installation.list(
        "pods", namespace=installation.namespaces.stock
    )
    names = [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]
    return [name for name in names if name.startswith(("other-", "unit-late-"))]


async def evictions(installation: IsolatedInstallation) -> list[dict[str, Any]]:
    evicted = []
    for namespace in installation.namespaces.units:
        events = await installation.list("events", namespace=namespace)
        evicted += [event for event in events if event["reason"] in ("Preempted", "Evicted")]
    return evicted


async def assert_no_eviction(installation: IsolatedInstallation) -> None:
    assert await scheduled_waiting_pods(installation) == []
    assert await evictions(installation) == []
