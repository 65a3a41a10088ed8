"""The status of a unit that does not run: a reason that a person can act on."""

from typing import Any

import pytest

from hack.cluster.admin_client import ApiStatusError
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.gpu_storages import create_storage, storage_manifest
from tests.support.builders.gpu_storages import simulated_prepare_storage as simulated_storage
from tests.support.builders.pods import PAUSED, pod_manifest, resume_pods, waiting_reason
from tests.support.builders.simulated_units import (
    PORTS,
    patch_unit,
    resource_version,
    restart_count,
    simulated_unit_manifest,
    unit_pods,
    user_unit_manifest,
    wait_observed_generation,
    wait_unit_message,
)
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    ready_condition,
    unit_manifest,
)
from tests.support.cluster.node_outages import make_node_not_ready
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually

QUICK = {"backoff": "100ms"}


def phase_of(unit: dict[str, Any]) -> str:
    return str(unit["status"]["phase"])


def message_of(unit: dict[str, Any]) -> str:
    return str(ready_condition(unit)["message"])


async def test_an_image_pull_error_is_reported_with_a_stable_message(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "image-pull"))
        unit = await wait_unit_message(installation, "mine", "ErrImagePull")
        for reason in ("ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
            await waits_for(installation, "mine", reason)
        later = await installation.get_unit("mine")

    assert (phase_of(unit), ready_condition(unit)["reason"]) == ("Failed", "PodStartupFailed")
    assert "failed to pull image example/image:1: not found" in message_of(unit)
    assert resource_version(later) == resource_version(unit)


async def waits_for(site: IsolatedInstallation, name: str, reason: str) -> None:
    """Wait until the container of the unit's pod is waiting for that reason."""
    await eventually(lambda: unit_pods(site, name), lambda pods: waiting_reason(pods[0]) == reason)


async def test_a_crash_loop_is_reported_once_with_exit_code_and_last_output(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        crashing = simulated_unit_manifest(
            "mine", "crash-loop", exit_code="3", message="no-such-model", **QUICK
        )
        await installation.create("gpuunits", crashing)
        unit = await wait_unit_message(installation, "mine", "CrashLoopBackOff")
        restarts = await restart_count(installation, "mine")
        await eventually(
            lambda: restart_count(installation, "mine"), lambda count: count >= restarts + 3
        )
        later = await installation.get_unit("mine")

    assert (phase_of(unit), ready_condition(unit)["reason"]) == ("Failed", "PodStartupFailed")
    assert message_of(unit) == (
        "CrashLoopBackOff: container unit ended with Error, exit code 3: no-such-model"
    )
    assert resource_version(later) == resource_version(unit)


async def test_a_container_that_exceeds_its_memory_is_reported(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "oom", **QUICK))
        unit = await wait_unit_message(installation, "mine", "OOMKilled")

    assert phase_of(unit) == "Failed"
    assert "OOMKilled, exit code 137" in message_of(unit)


async def test_an_unschedulable_unit_shows_the_scheduler_message_and_starts_once_it_fits(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", gpu=9))
        unit = await installation.wait_unit_reason("mine", "PodUnschedulable")
        await patch_unit(installation, "mine", gpu=1)
        await installation.wait_unit_reason("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert message_of(unit).startswith("0/4 nodes are available: 4 Insufficient nvidia.com/gpu")


async def test_unschedulable_stock_shows_the_scheduler_message(
    installation: IsolatedInstallation,
) -> None:
    stock = installation.namespaces.stock
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest("warm", gpu=9), namespace=stock)
        unit = await installation.wait_unit_reason("warm", "PodUnschedulable", namespace=stock)

    assert "Insufficient nvidia.com/gpu" in message_of(unit)


async def test_a_slow_start_is_reported_as_progress(installation: IsolatedInstallation) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "slow", delay=PAUSED))
        unit = await wait_unit_message(
            installation, "mine", "the container is being created on node gpu-"
        )
        await resume_pods(installation, await unit_pods(installation, "mine"), "delay")
        await installation.wait_unit_reason("mine", "UnitReady")

    assert (phase_of(unit), ready_condition(unit)["reason"]) == ("Progressing", "UnitProgressing")


async def test_a_running_container_that_is_never_ready_is_reported(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "never-ready"))
        unit = await wait_unit_message(installation, "mine", "is not ready yet")

    assert (phase_of(unit), ready_condition(unit)["reason"]) == ("Progressing", "UnitProgressing")
    assert message_of(unit) == (
        f"the container runs on node {unit['status']['nodeName']} and is not ready yet"
    )


async def test_a_lost_node_and_its_return_are_reported(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        pinned = user_unit_manifest("mine", nodeSelector={"kubernetes.io/hostname": "gpu-3"})
        await installation.create("gpuunits", pinned)
        await installation.wait_unit_reason("mine", "UnitReady")
        async with make_node_not_ready(installation.admin, "gpu-3"):
            unit = await wait_unit_message(installation, "mine", "node gpu-3 is not ready")
        await installation.wait_unit_reason("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert ready_condition(unit)["status"] == "False"


@pytest.mark.parametrize(
    ("hard", "reason", "message"),
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
async def test_an_exceeded_quota_is_reported_and_the_unit_starts_once_it_is_deleted(
    installation: IsolatedInstallation, hard: dict[str, str], reason: str, message: str
) -> None:
    await limit(installation, hard)
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        unit = await installation.wait_unit_reason("mine", reason)
        await installation.admin.delete(installation.path("resourcequotas", "little"))
        await installation.wait_unit_reason("mine", "UnitReady")

    assert phase_of(unit) == "Progressing"
    assert message_of(unit).startswith(message)
    assert "exceeded quota: little" in message_of(unit)


async def limit(site: IsolatedInstallation, hard: dict[str, str]) -> None:
    """Create a quota and wait until the server enforces it; admission must know the quota."""
    await site.create("resourcequotas", {"metadata": {"name": "little"}, "spec": {"hard": hard}})
    await eventually(lambda: is_refused(site))


async def is_refused(site: IsolatedInstallation) -> bool:
    """Return whether the quota refuses one of the unit's children."""
    for kind, body in {"pods": pod_manifest("try"), **FOREIGN}.items():
        try:
            await site.admin.request("POST", site.path(kind), body, query={"dryRun": "All"})
        except ApiStatusError as error:
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
async def test_a_foreign_child_object_blocks_the_unit_until_it_is_removed(
    installation: IsolatedInstallation, kind: str
) -> None:
    foreign = await installation.create(kind, FOREIGN[kind])
    path = installation.path(kind, foreign["metadata"]["name"])
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        unit = await installation.wait_unit_reason("mine", "ChildConflict")
        after = await installation.admin.get(path)
        await installation.admin.delete(path)
        await installation.wait_unit_reason("mine", "UnitReady")

    assert phase_of(unit) == "Failed"
    assert f"{foreign['metadata']['name']} exists but does not belong to this unit" in message_of(
        unit
    )
    assert after["spec"] == foreign["spec"]
    assert "ownerReferences" not in after["metadata"]


async def test_a_recreated_unit_gets_its_own_children(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        await installation.wait_unit_reason("mine", "UnitReady")
        await installation.admin.delete(installation.path("gpuunits", "mine"))
        again = await installation.create("gpuunits", user_unit_manifest("mine", template=PORTS))
        # The garbage collector needs half a minute to discover a kind that is new to the cluster.
        unit = await installation.wait_unit_reason("mine", "UnitReady")
        service = await installation.admin.get(installation.path("services", "unit-mine"))
        events = await installation.list("events")

    assert unit["metadata"]["uid"] == again["metadata"]["uid"]
    assert service["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]
    assert not [event for event in events if event["reason"] == "ChildConflict"]


async def test_a_changed_unit_is_ready_only_when_the_change_runs(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "slow", delay=PAUSED))
        await start(installation, "mine", "example/image:1")
        before = await installation.wait_unit_reason("mine", "UnitReady")
        await patch_unit(installation, "mine", image="example/image:2")
        rolling = await wait_observed_generation(installation, "mine", 2)
        await start(installation, "mine", "example/image:2")
        after = await installation.wait_unit_reason("mine", "UnitReady")
        (pod,) = await eventually(
            lambda: unit_pods(installation, "mine"), lambda pods: len(pods) == 1
        )

    assert before["status"]["observedGeneration"] == 1
    assert (phase_of(rolling), ready_condition(rolling)["status"]) == ("Progressing", "False")
    assert after["status"]["observedGeneration"] == 2
    assert pod["spec"]["containers"][0]["image"] == "example/image:2"


async def start(site: IsolatedInstallation, name: str, image: str) -> None:
    """Let the held pod of a unit with this image start, once the pod exists."""

    async def matching_pods() -> list[dict[str, Any]]:
        pods = await unit_pods(site, name)
        return [pod for pod in pods if pod["spec"]["containers"][0]["image"] == image]

    await resume_pods(site, await eventually(matching_pods), "delay")


async def test_a_change_that_cannot_start_is_a_failure_and_the_old_pod_stays(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine"))
        await installation.wait_unit_reason("mine", "UnitReady")
        (old,) = await unit_pods(installation, "mine")
        broken = {"sim.local/mode": "image-pull"}
        await installation.admin.patch(
            installation.path("gpuunits", "mine"),
            {"metadata": {"labels": broken}, "spec": {"image": "example/typo:1"}},
        )
        unit = await wait_unit_message(installation, "mine", "ErrImagePull")
        old_pod = await installation.admin.get(installation.path("pods", old["metadata"]["name"]))

    assert (phase_of(unit), unit["status"]["observedGeneration"]) == ("Failed", 2)
    assert "example/typo:1" in message_of(unit)
    assert "deletionTimestamp" not in old_pod["metadata"]


async def test_a_paused_deployment_is_not_reported_as_the_completed_change(
    installation: IsolatedInstallation,
) -> None:
    path = installation.path("deployments", "unit-mine")
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine"))
        await installation.wait_unit_reason("mine", "UnitReady")
        await installation.admin.patch(path, {"spec": {"paused": True}})
        await patch_unit(installation, "mine", image="example/image:2")
        paused = await wait_unit_message(installation, "mine", "Deployment unit-mine is paused")
        await installation.admin.patch(path, {"spec": {"paused": None}})
        await installation.wait_unit_reason("mine", "UnitReady")

    assert (phase_of(paused), paused["status"]["observedGeneration"]) == ("Progressing", 2)


async def test_a_unit_waits_for_its_storage_and_then_starts(
    installation: IsolatedInstallation,
) -> None:
    mounts = [{"name": "models", "mountPath": "/models"}]
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", storageMounts=mounts))
        missing = await installation.wait_unit_reason("mine", "StorageNotReady")
        await create_storage(
            installation, simulated_storage("models", prepare={"fromStorageName": "base"})
        )
        pending = await wait_unit_message(
            installation, "mine", "GPUStorage models is not ready: its phase is Pending"
        )
        await create_storage(installation, storage_manifest("base"))
        await installation.wait_unit_reason("mine", "UnitReady")

    assert phase_of(missing) == "Progressing"
    assert "GPUStorage models does not exist" in message_of(missing)
    assert phase_of(pending) == "Progressing"


async def test_kubectl_describe_shows_the_events_of_a_unit(
    installed_control_plane: ControlPlane, installation: IsolatedInstallation
) -> None:
    async def described() -> str:
        kubectl = admin_kubectl(installed_control_plane)
        return await kubectl.run(
            "describe", "gpuunit", "mine", "-n", installation.namespaces.instance
        )

    async with run_controller(installation):
        await installation.create(
            "gpuunits", user_unit_manifest("mine", template=PORTS, memory="lots")
        )
        await installation.wait_unit_reason("mine", "InvalidSpec")
        await patch_unit(installation, "mine", memory="1Gi")
        await installation.wait_unit_reason("mine", "UnitReady")
        text = await eventually(described, lambda text: "the unit runs on node" in events_in(text))

    events = events_in(text)
    assert "Warning  InvalidSpec" in events
    assert 'InvalidSpec: spec.memory: "lots"' in events
    assert "Created NetworkPolicy egress-mine, Service unit-mine" in events
    assert "Created Deployment unit-mine" in events


def events_in(text: str) -> str:
    return text.partition("Events:")[2]
