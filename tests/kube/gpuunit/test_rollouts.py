"""Rollouts: a unit keeps its GPU through changes of its image, and when its pod is deleted."""

import asyncio
from typing import Any

from tests.support.builders.full_cluster import (
    TOTAL_GPUS,
    assert_no_eviction,
    fill_cluster,
    nodes_of,
    nominations,
    ready_units,
    user_unit_manifests,
    with_labels,
)
from tests.support.builders.pods import PAUSED, resume_pods
from tests.support.builders.simulated_units import patch_unit, unit_pods
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.wait.eventually import eventually

ROLLOUTS = 20


async def images(site: IsolatedInstallation) -> dict[str, str]:
    """Return the running images by unit, without terminating pods."""
    return {
        pod["metadata"]["labels"]["runtime.lokiwager.io/unit"]: pod["spec"]["containers"][0][
            "image"
        ]
        for pod in await site.list("pods", labelSelector="runtime.lokiwager.io/unit")
        if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
    }


async def wait_settled(
    site: IsolatedInstallation, image: str, names: list[str]
) -> list[dict[str, Any]]:
    """Wait until the units of `names` run `image` and all units are current; return all units.

    A unit is current when it is ready for its generation.
    """
    await eventually(
        lambda: images(site), lambda run: all(run.get(name) == image for name in names)
    )
    return await eventually(
        lambda: ready_units(site),
        lambda units: len(units) == TOTAL_GPUS and all(map(is_current, units)),
    )


def is_current(unit: dict[str, Any]) -> bool:
    return bool(unit["status"]["observedGeneration"] == unit["metadata"]["generation"])


async def test_twenty_image_changes_on_a_full_cluster_keep_their_gpus(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        before = nodes_of(await fill_cluster(installation, user_unit_manifests()))
        changed = [f"u{number}" for number in range(ROLLOUTS)]

        await asyncio.gather(
            *(
                installation.admin.patch(
                    installation.path("gpuunits", name), {"spec": {"image": "a:2"}}
                )
                for name in changed
            )
        )

        assert nodes_of(await wait_settled(installation, "a:2", changed)) == before
        await assert_no_eviction(installation)
        await eventually(lambda: strategies(installation), lambda values: values == {0})


async def strategies(site: IsolatedInstallation) -> set[int]:
    """Return the values of maxUnavailable of all Deployments."""
    return {
        deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"]
        for deployment in await site.list("deployments")
    }


async def test_a_unit_whose_image_changes_twice_keeps_its_gpu(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": "1s"}
        before = nodes_of(await fill_cluster(installation, user_unit_manifests(slow)))
        changed = [f"u{number}" for number in range(5)]

        for image in ("a:2", "a:3"):
            for name in changed:
                await installation.admin.patch(
                    installation.path("gpuunits", name), {"spec": {"image": image}}
                )

        assert nodes_of(await wait_settled(installation, "a:3", changed)) == before
        await assert_no_eviction(installation)


async def test_a_deleted_pod_is_replaced_on_the_same_node(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": "1s"}
        before = nodes_of(await fill_cluster(installation, user_unit_manifests(slow)))
        deleted_names = [
            pod["metadata"]["name"]
            for pod in await installation.list("pods", labelSelector="runtime.lokiwager.io/unit")
        ][:8]

        for name in deleted_names:
            await installation.admin.delete(installation.path("pods", name))
        for name in deleted_names:
            await installation.wait_gone("pods", name)

        assert nodes_of(await wait_settled(installation, "a:1", list(before))) == before
        await assert_no_eviction(installation)


async def test_a_unit_with_an_invalid_spec_keeps_its_gpu_when_its_pod_is_deleted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": PAUSED}
        before = nodes_of(await fill_cluster(installation, user_unit_manifests(slow)))
        invalid = [f"u{number}" for number in range(4)]
        for name in invalid:
            await patch_unit(installation, name, memory="lots")
        for name in invalid:
            await installation.wait_unit_reason(name, "InvalidSpec")

        deleted_pods = [pod for name in invalid for pod in await unit_pods(installation, name)]
        for pod in deleted_pods:
            await installation.admin.delete(installation.path("pods", pod["metadata"]["name"]))
        expected = {name: before[name] for name in invalid}
        await eventually(lambda: nominations(installation), lambda nominated: nominated == expected)
        await resume_pods(installation, deleted_pods, "stop-for")
        for name in invalid:
            await patch_unit(installation, name, memory="1Gi")

        assert nodes_of(await wait_settled(installation, "a:1", list(before))) == before
        await assert_no_eviction(installation)


async def test_the_old_pod_keeps_running_when_the_new_pod_cannot_use_its_node(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        before = nodes_of(await fill_cluster(installation, user_unit_manifests()))
        pods = {pod["metadata"]["uid"] for pod in await installation.list("pods")}

        await installation.admin.patch(
            installation.path("gpuunits", "u0"), {"spec": {"nodeSelector": {"no": "where"}}}
        )
        unit = await installation.wait_unit_reason("u0", "PodUnschedulable")
        after = {pod["metadata"]["uid"] for pod in await installation.list("pods")}

        assert pods <= after
        assert unit["status"]["nodeName"] == before["u0"]
        await assert_no_eviction(installation)


async def test_a_label_change_alone_restarts_no_pod(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await installation.create(
            "gpuunits", with_labels(unit_manifest("mine", image="a:1"), {"team": "a"})
        )
        await installation.wait_unit_reason("mine", "UnitReady")
        pods = [pod["metadata"]["uid"] for pod in await installation.list("pods")]
        path = installation.path("gpuunits", "mine")

        await installation.admin.patch(path, {"metadata": {"labels": {"team": "b"}}})
        ports = {"template": {"ports": [{"name": "http", "port": 80}]}}
        await installation.admin.patch(path, {"spec": {"access": {"primaryPort": "none"}}})
        await installation.wait_unit_reason(
            "mine", "AccessConfigInvalid"
        )  # so the controller has also seen the labels

        assert [pod["metadata"]["uid"] for pod in await installation.list("pods")] == pods
        await installation.admin.patch(path, {"spec": {"access": None, **ports}})
        await eventually(lambda: teams(installation), lambda teams: teams == {"b"})


async def teams(site: IsolatedInstallation) -> set[str]:
    return {pod["metadata"]["labels"]["team"] for pod in await site.list("pods")}
