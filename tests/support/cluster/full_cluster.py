"""A cluster in which every GPU is taken, and others wait in line for one."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hack.cluster.admin_client import Admin
from tests.support.builders.pods import a_pod
from tests.support.cluster.isolated_installation import LONGEST_WATCHLESS_SECONDS, Site, a_unit
from tests.support.wait.eventually import eventually

GPUS = 32
IN_LINE = 6


async def fill(
    site: Site, units: list[dict[str, Any]], *, namespace: str = ""
) -> list[dict[str, Any]]:
    """Take every GPU with `units`, then let strangers and late stock queue up; the ready units."""
    await eventually(lambda: is_empty(site.admin), seconds=120)
    await asyncio.gather(*(site.create("gpuunits", each, namespace=namespace) for each in units))
    ready = await eventually(
        lambda: ready_units(site, namespace),
        lambda found: len(found) == GPUS,
        seconds=LONGEST_WATCHLESS_SECONDS,
    )
    for number in range(IN_LINE):
        await site.create("pods", a_pod(f"stranger-{number}", gpus=1))
        await site.create("gpuunits", a_unit(f"late-{number}"), namespace=site.namespaces.stock)
    await eventually(
        lambda: waiting(site),
        lambda count: count == 2 * IN_LINE,
        seconds=LONGEST_WATCHLESS_SECONDS,
    )
    return ready


def stock_units(labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One for each GPU."""
    return [labelled(a_unit(f"stock-{number}"), labels) for number in range(GPUS)]


def users_units(labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One for each GPU."""
    return [labelled(a_unit(f"u{number}", image="a:1"), labels) for number in range(GPUS)]


def labelled(unit: dict[str, Any], labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {**unit, "metadata": {**unit["metadata"], "labels": dict(labels or {})}}


async def ready_units(site: Site, namespace: str = "") -> list[dict[str, Any]]:
    listed = await site.list("gpuunits", namespace=namespace)
    return [unit for unit in listed if unit.get("status", {}).get("phase") == "Ready"]


def nodes_of(units: list[dict[str, Any]]) -> dict[str, str]:
    return {unit["metadata"]["name"]: unit["status"]["nodeName"] for unit in units}


async def nominations(site: Site) -> dict[str, str]:
    """The nodes on which places are kept, by unit."""
    pods = await site.list("pods", labelSelector="runtime.lokiwager.io/unit")
    return {
        pod["metadata"]["labels"]["runtime.lokiwager.io/unit"]: pod["status"]["nominatedNodeName"]
        for pod in pods
        if "nominatedNodeName" in pod["status"]
    }


async def waiting(site: Site) -> int:
    """How many pods the scheduler has looked at and found no node for."""
    pods = await site.list("pods") + await site.list("pods", namespace=site.namespaces.stock)
    return sum(
        any(found.get("reason") == "Unschedulable" for found in pod["status"].get("conditions", ()))
        for pod in pods
    )


async def is_empty(admin: Admin) -> bool:
    pods = await admin.get("/api/v1/pods")
    return not any("nvidia.com/gpu" in str(pod["spec"]) for pod in pods["items"])


async def intruders(site: Site) -> list[str]:
    """Strangers and late stock that got a GPU all the same."""
    pods = await site.list("pods") + await site.list("pods", namespace=site.namespaces.stock)
    names = [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]
    return [name for name in names if name.startswith(("stranger-", "unit-late-"))]


async def evictions(site: Site) -> list[dict[str, Any]]:
    found = []
    for namespace in site.namespaces.units:
        events = await site.list("events", namespace=namespace)
        found += [event for event in events if event["reason"] in ("Preempted", "Evicted")]
    return found


async def nobody_was_harmed(site: Site) -> None:
    assert await intruders(site) == []
    assert await evictions(site) == []
