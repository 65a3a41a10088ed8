"""The overlays that people apply, as kubectl renders them and on the test run's control plane."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from hack.cluster.control_plane import ControlPlane
from hack.local.state_dir import ROOT
from tests.support.cluster.product_processes import admin_kubectl

OVERLAYS = ("default", "dev", "ha")
SYSTEM_NAMESPACE = "runtime-system"
# What runs or waits; definitions, namespaces, accounts and roles are the other tests' too.
WORKLOAD_KINDS = (
    "deployments,statefulsets,jobs,services,networkpolicies,poddisruptionbudgets,"
    "configmaps,secrets,persistentvolumeclaims"
)
PRODUCT_SELECTOR = "app.kubernetes.io/part-of=gpu-runtime"


async def render_overlay(plane: ControlPlane, overlay: str) -> list[dict[str, Any]]:
    """Every object of an overlay."""
    text = await admin_kubectl(plane).run("kustomize", overlay_path(overlay))
    return [each for each in yaml.safe_load_all(text) if each]


def overlay_path(overlay: str) -> str:
    return str(ROOT / "manifests" / "overlays" / overlay)


@asynccontextmanager
async def apply_overlay(plane: ControlPlane, overlay: str) -> AsyncIterator[None]:
    """The overlay as a person applies it, for the length of the block."""
    kubectl = admin_kubectl(plane)
    try:
        await kubectl.run("apply", "--server-side", "-k", overlay_path(overlay))
        yield
    finally:
        await kubectl.run(
            "delete", WORKLOAD_KINDS, "-n", SYSTEM_NAMESPACE, "-l", PRODUCT_SELECTOR, "--wait=true"
        )
        await kubectl.run("delete", "networkpolicies", "-A", "-l", PRODUCT_SELECTOR)


def find_object(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """The one object of that name, with or without the hash that kustomize puts behind it."""
    found = [
        each
        for each in objects
        if each["kind"] == kind and each["metadata"]["name"].startswith(name)
    ]
    assert len(found) == 1, [each["metadata"]["name"] for each in found]
    return found[0]


def overlay_settings(objects: list[dict[str, Any]], program: str) -> dict[str, Any]:
    """The configuration of a program that an overlay brings."""
    data = find_object(objects, "ConfigMap", f"{program}-config")["data"]
    settings: dict[str, Any] = yaml.safe_load(data[f"{program}.yaml"])
    return settings
