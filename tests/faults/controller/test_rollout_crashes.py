"""Crashes of the controller while a unit's pod is replaced: the next controller keeps the GPU."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import pytest

from hack.cluster.admin_client import ApiStatusError
from tests.support.builders.full_cluster import (
    assert_no_eviction,
    fill_cluster,
    nodes_of,
    user_unit_manifests,
)
from tests.support.builders.pods import PAUSED, resume_pods
from tests.support.builders.simulated_units import patch_unit, unit_pods
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    MAX_WATCH_GAP_SECONDS,
    IsolatedInstallation,
    ready_condition,
)
from tests.support.faults.crashing_rest_client import CrashingRestClient, run_crashing_controller
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import wait_for_first

SLOW = {"sim.local/stop": "late", "sim.local/stop-for": PAUSED}
Pod = dict[str, Any]
Disturb = Callable[[IsolatedInstallation, str, Pod], Awaitable[None]]

pytestmark = pytest.mark.timeout(900)  # a minute, but longer on a slow machine


async def change_image(site: IsolatedInstallation, name: str, _: Pod) -> None:
    await patch_unit(site, name, image="a:2")


async def delete_pod(site: IsolatedInstallation, _: str, pod: Pod) -> None:
    await site.admin.delete(site.path("pods", pod["metadata"]["name"]))


@pytest.mark.parametrize("disturb", [change_image, delete_pod])
async def test_a_unit_keeps_its_gpu_in_spite_of_a_crash_after_every_write(
    installation: IsolatedInstallation, disturb: Disturb
) -> None:
    """Create one unit for each write on one full cluster.

    A crash before a write equals a crash after the write before it. Which write is the nth depends
    on timing, so one controller dies at the nomination for certain.
    """
    async with run_controller(installation):
        unit_nodes = list(
            nodes_of(await fill_cluster(installation, user_unit_manifests(SLOW))).items()
        )
    nominator = run_crashing_controller(
        installation, crash_at_write=1, after_sending=True, is_counted=nominates
    )
    assert await survived(installation, disturb, unit_nodes.pop(), nominator)
    lines: list[str] = []
    for dies_at, unit_node in enumerate(unit_nodes, start=1):
        controller = run_crashing_controller(
            installation, crash_at_write=dies_at, after_sending=True
        )
        line = await survived(installation, disturb, unit_node, controller)
        if not line:
            break
        lines.append(line)

    assert len(lines) < len(unit_nodes), lines


async def survived(
    site: IsolatedInstallation,
    disturb: Disturb,
    unit_node: tuple[str, str],
    controller: AbstractAsyncContextManager[CrashingRestClient],
) -> str:
    """Disturb a unit; return the write at which the controller died.

    The result is empty if the controller lived.
    """
    name, node = unit_node
    (old,) = await unit_pods(site, name)
    async with controller as client:
        await disturb(site, name, old)
        await wait_for_first(wait_replaced(site, name, old), client.crashed.wait())
    async with run_controller(site):
        unit = await wait_replaced(site, name, old)
    assert unit["status"]["nodeName"] == node, client.fatal_call
    await assert_no_eviction(site)
    return client.fatal_call


def nominates(line: str) -> bool:
    return "/pods/" in line and line.endswith("/status")


async def wait_replaced(site: IsolatedInstallation, name: str, old: Pod) -> dict[str, Any]:
    """Let the old pod end once its node is nominated.

    Return the unit when another pod runs for it.
    """
    await eventually(
        lambda: unit_pods(site, name),
        lambda pods: any(has_node_or_nomination(pod) for pod in pods if not is_same(pod, old)),
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    with suppress(ApiStatusError):  # the old pod may have ended before the crash
        await resume_pods(site, [old], "stop-for")
    await eventually(
        lambda: unit_pods(site, name),
        lambda pods: len(pods) == 1 and not is_same(pods[0], old),
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    await eventually(
        lambda: site.admin.get(site.path("deployments", f"unit-{name}")),
        lambda deployment: deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0,
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    return await eventually(
        lambda: site.get_unit(name), is_ready, timeout_seconds=MAX_WATCH_GAP_SECONDS
    )


def has_node_or_nomination(pod: Pod) -> bool:
    return "nominatedNodeName" in pod["status"] or "nodeName" in pod["spec"]


def is_same(pod: Pod, old: Pod) -> bool:
    return bool(pod["metadata"]["uid"] == old["metadata"]["uid"])


def is_ready(unit: dict[str, Any]) -> bool:
    ready, generation = ready_condition(unit), unit["metadata"]["generation"]
    return (ready["status"], ready["observedGeneration"]) == ("True", generation)
