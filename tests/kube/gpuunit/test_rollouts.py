"""A unit keeps its GPU: through changes of its image, and when its pod is deleted."""

import asyncio
from typing import Any

from tests.support.builders.paused_pods import HELD, go_on
from tests.support.builders.simulated_units import change, pods_of
from tests.support.cluster.full_cluster import (
    GPUS,
    fill,
    labelled,
    nobody_was_harmed,
    nodes_of,
    nominations,
    ready_units,
    users_units,
)
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit
from tests.support.wait.eventually import eventually

ROLLOUTS = 20


async def images(site: Site) -> dict[str, str]:
    """What runs, by unit; only pods that are not going."""
    return {
        pod["metadata"]["labels"]["runtime.lokiwager.io/unit"]: pod["spec"]["containers"][0][
            "image"
        ]
        for pod in await site.list("pods", labelSelector="runtime.lokiwager.io/unit")
        if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
    }


async def settled(site: Site, image: str, names: list[str]) -> list[dict[str, Any]]:
    """The units, once those of `names` run `image` and all are ready for their generation."""
    await eventually(
        lambda: images(site), lambda run: all(run.get(name) == image for name in names)
    )
    return await eventually(
        lambda: ready_units(site),
        lambda units: len(units) == GPUS and all(map(is_current, units)),
    )


def is_current(unit: dict[str, Any]) -> bool:
    return bool(unit["status"]["observedGeneration"] == unit["metadata"]["generation"])


async def test_twenty_image_changes_on_a_full_cluster_keep_their_gpus(site: Site) -> None:
    async with controlled(site):
        before = nodes_of(await fill(site, users_units()))
        changed = [f"u{number}" for number in range(ROLLOUTS)]

        await asyncio.gather(
            *(
                site.admin.patch(site.path("gpuunits", name), {"spec": {"image": "a:2"}})
                for name in changed
            )
        )

        assert nodes_of(await settled(site, "a:2", changed)) == before
        await nobody_was_harmed(site)
        await eventually(lambda: strategies(site), lambda found: found == {0})


async def strategies(site: Site) -> set[int]:
    """How many pods each Deployment may be short of."""
    return {
        found["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"]
        for found in await site.list("deployments")
    }


async def test_an_image_that_is_changed_twice_at_once_keeps_its_gpu(site: Site) -> None:
    async with controlled(site):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": "1s"}
        before = nodes_of(await fill(site, users_units(slow)))
        changed = [f"u{number}" for number in range(5)]

        for image in ("a:2", "a:3"):
            for name in changed:
                await site.admin.patch(site.path("gpuunits", name), {"spec": {"image": image}})

        assert nodes_of(await settled(site, "a:3", changed)) == before
        await nobody_was_harmed(site)


async def test_a_deleted_pod_is_replaced_in_its_place(site: Site) -> None:
    async with controlled(site):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": "1s"}
        before = nodes_of(await fill(site, users_units(slow)))
        victims = [
            pod["metadata"]["name"]
            for pod in await site.list("pods", labelSelector="runtime.lokiwager.io/unit")
        ][:8]

        for name in victims:
            await site.admin.delete(site.path("pods", name))
        for name in victims:
            await site.gone("pods", name)

        assert nodes_of(await settled(site, "a:1", list(before))) == before
        await nobody_was_harmed(site)


async def test_a_unit_whose_spec_was_spoilt_keeps_its_gpu_when_its_pod_is_deleted(
    site: Site,
) -> None:
    async with controlled(site):
        slow = {"sim.local/stop": "late", "sim.local/stop-for": HELD}
        before = nodes_of(await fill(site, users_units(slow)))
        spoilt = [f"u{number}" for number in range(4)]
        for name in spoilt:
            await change(site, name, memory="lots")
        for name in spoilt:
            await site.unit_with(name, "InvalidSpec")

        victims = [pod for name in spoilt for pod in await pods_of(site, name)]
        for victim in victims:
            await site.admin.delete(site.path("pods", victim["metadata"]["name"]))
        kept = {name: before[name] for name in spoilt}
        await eventually(lambda: nominations(site), lambda found: found == kept)
        await go_on(site, victims, "stop-for")
        for name in spoilt:
            await change(site, name, memory="1Gi")

        assert nodes_of(await settled(site, "a:1", list(before))) == before
        await nobody_was_harmed(site)


async def test_a_new_pod_that_cannot_run_in_the_old_place_leaves_the_old_one_alone(
    site: Site,
) -> None:
    async with controlled(site):
        before = nodes_of(await fill(site, users_units()))
        pods = {pod["metadata"]["uid"] for pod in await site.list("pods")}

        await site.admin.patch(
            site.path("gpuunits", "u0"), {"spec": {"nodeSelector": {"no": "where"}}}
        )
        unit = await site.unit_with("u0", "PodUnschedulable")
        after = {pod["metadata"]["uid"] for pod in await site.list("pods")}

        assert pods <= after
        assert unit["status"]["nodeName"] == before["u0"]
        await nobody_was_harmed(site)


async def test_labels_alone_restart_nobody(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", labelled(a_unit("mine", image="a:1"), {"team": "a"}))
        await site.unit_with("mine", "UnitReady")
        pods = [pod["metadata"]["uid"] for pod in await site.list("pods")]
        path = site.path("gpuunits", "mine")

        await site.admin.patch(path, {"metadata": {"labels": {"team": "b"}}})
        ports = {"template": {"ports": [{"name": "http", "port": 80}]}}
        await site.admin.patch(path, {"spec": {"access": {"primaryPort": "none"}}})
        await site.unit_with("mine", "AccessConfigInvalid")  # so the labels have been seen too

        assert [pod["metadata"]["uid"] for pod in await site.list("pods")] == pods
        await site.admin.patch(path, {"spec": {"access": None, **ports}})
        await eventually(lambda: teams(site), lambda found: found == {"b"})


async def teams(site: Site) -> set[str]:
    return {pod["metadata"]["labels"]["team"] for pod in await site.list("pods")}
