"""The shipped overlays, rendered by kubectl or applied to the test run's control plane."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from hack.cluster.control_plane import ControlPlane
from hack.local.state_dir import ROOT
from tests.support.cluster.product_processes import admin_kubectl

OVERLAYS = ("default", "dev", "ha")
SYSTEM_NAMESPACE = "runtime-system"
# What one test creates; definitions, namespaces, accounts and roles belong to all tests.
WORKLOAD_KINDS = (
    "deployments,statefulsets,jobs,services,networkpolicies,poddisruptionbudgets,"
    "configmaps,secrets,persistentvolumeclaims"
)
PRODUCT_SELECTOR = "app.kubernetes.io/part-of=gpu-runtime"


async def render_overlay(plane: ControlPlane, overlay: str) -> list[dict[str, Any]]:
    """Return every object of an overlay."""
    text = await admin_kubectl(plane).run("kustomize", overlay_path(overlay))
    return [document for document in yaml.safe_load_all(text) if document]


def overlay_path(overlay: str) -> str:
    return str(ROOT / "manifests" / "overlays" / overlay)


@asynccontextmanager
async def apply_overlay(plane: ControlPlane, overlay: str) -> AsyncIterator[None]:
    """Apply an overlay for the length of the block, as an operator does."""
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
    """Return the only object of that kind and name, with or without the hash of kustomize."""
    matching = [
        candidate
        for candidate in objects
        if candidate["kind"] == kind and candidate["metadata"]["name"].startswith(name)
    ]
    assert len(matching) == 1, [candidate["metadata"]["name"] for candidate in matching]
    return matching[0]


def overlay_settings(objects: list[dict[str, Any]], program: str) -> dict[str, Any]:
    """Return the configuration of a program in an overlay."""
    data = find_object(objects, "ConfigMap", f"{program}-config")["data"]
    settings: dict[str, Any] = yaml.safe_load(data[f"{program}.yaml"])
    return settings
