"""The controller dies while a unit's pod is replaced: the next one keeps the GPU all the same."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import pytest

from hack.cluster.admin_client import RefusedError
from tests.support.builders.paused_pods import HELD, go_on
from tests.support.builders.simulated_units import change, pods_of
from tests.support.cluster.full_cluster import fill, nobody_was_harmed, nodes_of, users_units
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import LONGEST_WATCHLESS_SECONDS, Site, ready_of
from tests.support.faults.crashing_rest_client import Mortal, doomed
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import first_of

SLOW = {"sim.local/stop": "late", "sim.local/stop-for": HELD}
Pod = dict[str, Any]
Disturb = Callable[[Site, str, Pod], Awaitable[None]]

pytestmark = pytest.mark.timeout(900)  # a minute, but not on every machine


async def change_image(site: Site, name: str, _: Pod) -> None:
    await change(site, name, image="a:2")


async def delete_pod(site: Site, _: str, pod: Pod) -> None:
    await site.admin.delete(site.path("pods", pod["metadata"]["name"]))


@pytest.mark.parametrize("disturb", [change_image, delete_pod])
async def test_a_unit_keeps_its_gpu_in_spite_of_a_crash_after_every_write(
    site: Site, disturb: Disturb
) -> None:
    """One unit for each write on one full cluster; before a write is after the one before it.

    Which write is the nth depends on what comes first, so one dies at the nomination for certain.
    """
    async with controlled(site):
        places = list(nodes_of(await fill(site, users_units(SLOW))).items())
    nominator = doomed(site, dies_at=1, after_sending=True, counts=nominates)
    assert await survived(site, disturb, places.pop(), nominator)
    lines: list[str] = []
    for dies_at, place in enumerate(places, start=1):
        mortal = doomed(site, dies_at=dies_at, after_sending=True)
        line = await survived(site, disturb, place, mortal)
        if not line:
            break
        lines.append(line)

    assert len(lines) < len(places), lines


async def survived(
    site: Site,
    disturb: Disturb,
    place: tuple[str, str],
    dying: AbstractAsyncContextManager[Mortal],
) -> str:
    """The write at which the controller died while a unit was disturbed; none if it lived on."""
    name, node = place
    (old,) = await pods_of(site, name)
    async with dying as mortal:
        await disturb(site, name, old)
        await first_of(replaced(site, name, old), mortal.died.wait())
    async with controlled(site):
        unit = await replaced(site, name, old)
    assert unit["status"]["nodeName"] == node, mortal.last_call
    await nobody_was_harmed(site)
    return mortal.last_call


def nominates(line: str) -> bool:
    return "/pods/" in line and line.endswith("/status")


async def replaced(site: Site, name: str, old: Pod) -> dict[str, Any]:
    """Let the old pod end once its place is kept; the unit when another pod runs for it."""
    await eventually(
        lambda: pods_of(site, name),
        lambda pods: any(has_place(pod) for pod in pods if not is_same(pod, old)),
        seconds=LONGEST_WATCHLESS_SECONDS,
    )
    with suppress(RefusedError):  # it may have ended before the crash
        await go_on(site, [old], "stop-for")
    await eventually(
        lambda: pods_of(site, name),
        lambda pods: len(pods) == 1 and not is_same(pods[0], old),
        seconds=LONGEST_WATCHLESS_SECONDS,
    )
    await eventually(
        lambda: site.admin.get(site.path("deployments", f"unit-{name}")),
        lambda found: found["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0,
        seconds=LONGEST_WATCHLESS_SECONDS,
    )
    return await eventually(lambda: site.unit(name), is_ready, seconds=LONGEST_WATCHLESS_SECONDS)


def has_place(pod: Pod) -> bool:
    return "nominatedNodeName" in pod["status"] or "nodeName" in pod["spec"]


def is_same(pod: Pod, old: Pod) -> bool:
    return bool(pod["metadata"]["uid"] == old["metadata"]["uid"])


def is_ready(unit: dict[str, Any]) -> bool:
    ready, generation = ready_of(unit), unit["metadata"]["generation"]
    return (ready["status"], ready["observedGeneration"]) == ("True", generation)
