"""Users' units whose pods are simulated by labels."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.pods import container_status
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    ready_condition,
    unit_manifest,
)
from tests.support.wait.eventually import eventually

IMAGE = "example/image:1"
PORTS = {"ports": [{"name": "http", "port": 8888}]}


def user_unit_manifest(name: str, **spec: Any) -> dict[str, Any]:
    """Return the manifest of a unit that starts at once unless `spec` prevents it."""
    return unit_manifest(name, **{"image": IMAGE, **spec})


def simulated_unit_manifest(name: str, mode: str, **labels: str) -> dict[str, Any]:
    """Return the manifest of a unit whose pod behaves as `mode`: see docs/local-cluster.md."""
    unit = user_unit_manifest(name)
    parameters = {f"sim.local/{key.replace('_', '-')}": value for key, value in labels.items()}
    unit["metadata"]["labels"] = {"sim.local/mode": mode, **parameters}
    return unit


async def wait_unit_message(
    installation: IsolatedInstallation, name: str, text: str, *, namespace: str = ""
) -> dict[str, Any]:
    """Return the unit once its Ready condition has `text` in its message."""
    return await eventually(
        lambda: installation.get_unit(name, namespace=namespace),
        lambda unit: text in ready_condition(unit).get("message", ""),
    )


async def wait_observed_generation(
    installation: IsolatedInstallation, name: str, generation: int
) -> dict[str, Any]:
    """Return the unit once its status is of that generation."""
    return await eventually(
        lambda: installation.get_unit(name),
        lambda unit: unit.get("status", {}).get("observedGeneration") == generation,
    )


async def patch_unit(installation: IsolatedInstallation, name: str, **spec: Any) -> dict[str, Any]:
    """Change the spec, as `kubectl edit` does."""
    changed: dict[str, Any] = await installation.admin.patch(
        installation.path("gpuunits", name), {"spec": spec}
    )
    return changed


async def unit_pods(installation: IsolatedInstallation, name: str) -> list[dict[str, Any]]:
    return await installation.list("pods", labelSelector=f"runtime.lokiwager.io/unit={name}")


async def restart_count(installation: IsolatedInstallation, name: str) -> int:
    """Return the number of restarts of the container in the unit's only pod."""
    (pod,) = await unit_pods(installation, name)
    return int(container_status(pod).get("restartCount", 0))


def resource_version(manifest: Mapping[str, Any]) -> str:
    """Return the resourceVersion, which differs after every write."""
    return str(manifest["metadata"]["resourceVersion"])
