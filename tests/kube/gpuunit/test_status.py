"""A unit that does not run says why, in words that a person can act on."""

from typing import Any

import pytest

from hack.cluster.admin_client import RefusedError
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.gpu_storages import a_storage, create
from tests.support.builders.gpu_storages import simulated as simulated_storage
from tests.support.builders.paused_pods import HELD, go_on
from tests.support.builders.pods import a_pod, waiting_reason
from tests.support.builders.simulated_units import (
    PORTS,
    a_users_unit,
    change,
    pods_of,
    restarts_of,
    simulated,
    unit_saying,
    unit_seen_at,
    version_of,
)
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit, ready_of
from tests.support.cluster.node_outages import lost_node
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually

QUICK = {"backoff": "100ms"}


def phase_of(unit: dict[str, Any]) -> str:
    return str(unit["status"]["phase"])


def message_of(unit: dict[str, Any]) -> str:
    return str(ready_of(unit)["message"])


async def test_an_image_that_cannot_be_pulled_is_named_and_the_words_do_not_flap(
    site: Site,
) -> None:
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "image-pull"))
        unit = await unit_saying(site, "mine", "ErrImagePull")
        for reason in ("ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
            await waits_for(site, "mine", reason)
        later = await site.unit("mine")

    assert (phase_of(unit), ready_of(unit)["reason"]) == ("Failed", "PodStartupFailed")
    assert "failed to pull image example/image:1: not found" in message_of(unit)
    assert version_of(later) == version_of(unit)


async def waits_for(site: Site, name: str, reason: str) -> None:
    """Until the container of the unit's pod waits for that reason."""
    await eventually(lambda: pods_of(site, name), lambda pods: waiting_reason(pods[0]) == reason)


async def test_a_crash_loop_tells_the_exit_code_and_the_last_words_and_is_then_silent(
    site: Site,
) -> None:
    async with controlled(site):
        crashing = simulated("mine", "crash-loop", exit_code="3", message="no-such-model", **QUICK)
        await site.create("gpuunits", crashing)
        unit = await unit_saying(site, "mine", "CrashLoopBackOff")
        restarts = await restarts_of(site, "mine")
        await eventually(lambda: restarts_of(site, "mine"), lambda count: count >= restarts + 3)
        later = await site.unit("mine")

    assert (phase_of(unit), ready_of(unit)["reason"]) == ("Failed", "PodStartupFailed")
    assert message_of(unit) == (
        "CrashLoopBackOff: container unit ended with Error, exit code 3: no-such-model"
    )
    assert version_of(later) == version_of(unit)


async def test_a_container_that_needs_too_much_memory_is_said_to(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "oom", **QUICK))
        unit = await unit_saying(site, "mine", "OOMKilled")

    assert phase_of(unit) == "Failed"
    assert "OOMKilled, exit code 137" in message_of(unit)


async def test_a_unit_that_fits_nowhere_has_the_schedulers_words_and_starts_when_it_fits(
    site: Site,
) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", gpu=9))
        unit = await site.unit_with("mine", "PodUnschedulable")
        await change(site, "mine", gpu=1)
        await site.unit_with("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert message_of(unit).startswith("0/4 nodes are available: 4 Insufficient nvidia.com/gpu")


async def test_stock_that_fits_nowhere_says_so_too(site: Site) -> None:
    stock = site.namespaces.stock
    async with controlled(site):
        await site.create("gpuunits", a_unit("warm", gpu=9), namespace=stock)
        unit = await site.unit_with("warm", "PodUnschedulable", namespace=stock)

    assert "Insufficient nvidia.com/gpu" in message_of(unit)


async def test_a_slow_start_is_progress(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "slow", delay=HELD))
        unit = await unit_saying(site, "mine", "the container is being created on node gpu-")
        await go_on(site, await pods_of(site, "mine"), "delay")
        await site.unit_with("mine", "UnitReady")

    assert (phase_of(unit), ready_of(unit)["reason"]) == ("Progressing", "UnitProgressing")


async def test_a_container_that_never_becomes_ready_is_told_from_one_that_is_not_there(
    site: Site,
) -> None:
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "never-ready"))
        unit = await unit_saying(site, "mine", "is not ready yet")

    assert (phase_of(unit), ready_of(unit)["reason"]) == ("Progressing", "UnitProgressing")
    assert message_of(unit) == (
        f"the container runs on node {unit['status']['nodeName']} and is not ready yet"
    )


async def test_a_lost_node_is_named_and_its_return_noticed(site: Site) -> None:
    async with controlled(site):
        pinned = a_users_unit("mine", nodeSelector={"kubernetes.io/hostname": "gpu-3"})
        await site.create("gpuunits", pinned)
        await site.unit_with("mine", "UnitReady")
        async with lost_node(site.admin, "gpu-3"):
            unit = await unit_saying(site, "mine", "node gpu-3 is not ready")
        await site.unit_with("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert ready_of(unit)["status"] == "False"


@pytest.mark.parametrize(
    ("hard", "reason", "said"),
    [
        ({"pods": "0"}, "PodStartupFailed", "FailedCreate: pods"),
        ({"count/deployments.apps": "0"}, "UnitDeploymentSyncFailed", "Deployment unit-mine: "),
        ({"services": "0"}, "UnitServiceSyncFailed", "Service unit-mine: "),
        (
            {"count/networkpolicies.networking.k8s.io": "0"},
            "UnitNetworkPolicySyncFailed",
            "NetworkPolicy egress-mine: ",
        ),
    ],
)
async def test_a_quota_is_named_and_the_unit_starts_once_it_is_lifted(
    site: Site, hard: dict[str, str], reason: str, said: str
) -> None:
    await limit(site, hard)
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        unit = await site.unit_with("mine", reason)
        await site.admin.delete(site.path("resourcequotas", "little"))
        await site.unit_with("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert message_of(unit).startswith(said)
    assert "exceeded quota: little" in message_of(unit)


async def limit(site: Site, hard: dict[str, str]) -> None:
    """A quota that the server holds people to: it is known where new objects are let in."""
    await site.create("resourcequotas", {"metadata": {"name": "little"}, "spec": {"hard": hard}})
    await eventually(lambda: is_refused(site))


async def is_refused(site: Site) -> bool:
    """Whether the quota keeps one of the things out that a unit consists of."""
    for kind, body in {"pods": a_pod("try"), **FOREIGN}.items():
        try:
            await site.admin.request("POST", site.path(kind), body, query={"dryRun": "All"})
        except RefusedError as error:
            return "exceeded quota" in str(error)
    return False


FOREIGN = {
    "deployments": {
        "metadata": {"name": "unit-mine"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "other"}},
            "template": {
                "metadata": {"labels": {"app": "other"}},
                "spec": {"containers": [{"name": "other", "image": "example/other:1"}]},
            },
        },
    },
    "services": {"metadata": {"name": "unit-mine"}, "spec": {"ports": [{"port": 1}]}},
    "networkpolicies": {"metadata": {"name": "egress-mine"}, "spec": {"podSelector": {}}},
}


@pytest.mark.parametrize("kind", FOREIGN)
async def test_a_child_of_somebody_else_is_left_alone_and_its_removal_lets_the_unit_go_on(
    site: Site, kind: str
) -> None:
    theirs = await site.create(kind, FOREIGN[kind])
    path = site.path(kind, theirs["metadata"]["name"])
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        unit = await site.unit_with("mine", "ChildConflict")
        left = await site.admin.get(path)
        await site.admin.delete(path)
        await site.unit_with("mine", "UnitReady")

    assert phase_of(unit) == "Failed"
    assert f"{theirs['metadata']['name']} exists and is not this unit's" in message_of(unit)
    assert left["spec"] == theirs["spec"]
    assert "ownerReferences" not in left["metadata"]


async def test_a_unit_that_is_made_again_at_once_gets_children_of_its_own(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        await site.unit_with("mine", "UnitReady")
        await site.admin.delete(site.path("gpuunits", "mine"))
        again = await site.create("gpuunits", a_users_unit("mine", template=PORTS))
        # The garbage collector takes half a minute to hear of a kind that is new to the cluster.
        unit = await site.unit_with("mine", "UnitReady")
        service = await site.admin.get(site.path("services", "unit-mine"))
        events = await site.list("events")

    assert unit["metadata"]["uid"] == again["metadata"]["uid"]
    assert service["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]
    assert not [event for event in events if event["reason"] == "ChildConflict"]


async def test_a_changed_unit_is_ready_only_when_the_change_runs(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "slow", delay=HELD))
        await start(site, "mine", "example/image:1")
        before = await site.unit_with("mine", "UnitReady")
        await change(site, "mine", image="example/image:2")
        rolling = await unit_seen_at(site, "mine", 2)
        await start(site, "mine", "example/image:2")
        after = await site.unit_with("mine", "UnitReady")
        (pod,) = await eventually(lambda: pods_of(site, "mine"), lambda pods: len(pods) == 1)

    assert before["status"]["observedGeneration"] == 1
    assert (phase_of(rolling), ready_of(rolling)["status"]) == ("Progressing", "False")
    assert after["status"]["observedGeneration"] == 2
    assert pod["spec"]["containers"][0]["image"] == "example/image:2"


async def start(site: Site, name: str, image: str) -> None:
    """Let the held pod of a unit that runs this image start, once it is there."""

    async def look() -> list[dict[str, Any]]:
        pods = await pods_of(site, name)
        return [pod for pod in pods if pod["spec"]["containers"][0]["image"] == image]

    await go_on(site, await eventually(look), "delay")


async def test_a_change_that_cannot_start_is_a_failure_and_the_old_pod_stays(site: Site) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine"))
        await site.unit_with("mine", "UnitReady")
        (old,) = await pods_of(site, "mine")
        broken = {"sim.local/mode": "image-pull"}
        await site.admin.patch(
            site.path("gpuunits", "mine"),
            {"metadata": {"labels": broken}, "spec": {"image": "example/typo:1"}},
        )
        unit = await unit_saying(site, "mine", "ErrImagePull")
        left = await site.admin.get(site.path("pods", old["metadata"]["name"]))

    assert (phase_of(unit), unit["status"]["observedGeneration"]) == ("Failed", 2)
    assert "example/typo:1" in message_of(unit)
    assert "deletionTimestamp" not in left["metadata"]


async def test_a_paused_deployment_does_not_pass_for_the_change(site: Site) -> None:
    path = site.path("deployments", "unit-mine")
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine"))
        await site.unit_with("mine", "UnitReady")
        await site.admin.patch(path, {"spec": {"paused": True}})
        await change(site, "mine", image="example/image:2")
        paused = await unit_saying(site, "mine", "Deployment unit-mine is paused")
        await site.admin.patch(path, {"spec": {"paused": None}})
        await site.unit_with("mine", "UnitReady")

    assert (phase_of(paused), paused["status"]["observedGeneration"]) == ("Progressing", 2)


async def test_a_unit_waits_for_its_storage_and_then_starts(site: Site) -> None:
    mounts = [{"name": "models", "mountPath": "/models"}]
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", storageMounts=mounts))
        missing = await site.unit_with("mine", "StorageNotReady")
        await create(site, simulated_storage("models", prepare={"fromStorageName": "base"}))
        pending = await unit_saying(site, "mine", "GPUStorage models is not ready: it is Pending")
        await create(site, a_storage("base"))
        await site.unit_with("mine", "UnitReady")

    assert phase_of(missing) == "Progressing"
    assert "GPUStorage models does not exist" in message_of(missing)
    assert phase_of(pending) == "Progressing"


async def test_the_story_of_a_unit_is_told_by_kubectl_describe(
    installed: ControlPlane, site: Site
) -> None:
    async def described() -> str:
        kubectl = admin_kubectl(installed)
        return await kubectl.run("describe", "gpuunit", "mine", "-n", site.namespaces.instance)

    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", template=PORTS, memory="lots"))
        await site.unit_with("mine", "InvalidSpec")
        await change(site, "mine", memory="1Gi")
        await site.unit_with("mine", "UnitReady")
        text = await eventually(described, lambda text: "the unit runs on node" in events_in(text))

    events = events_in(text)
    assert "Warning  InvalidSpec" in events
    assert 'InvalidSpec: spec.memory: "lots"' in events
    assert "Created NetworkPolicy egress-mine, Service unit-mine" in events
    assert "Created Deployment unit-mine" in events


def events_in(text: str) -> str:
    return text.partition("Events:")[2]
