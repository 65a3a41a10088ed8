"""Manifests and statuses of pods, and commands to the nodes that simulate them."""

from collections.abc import Mapping, Sequence
from typing import Any

from hack.cluster.admin_client import AdminClient
from tests.support.cluster.isolated_installation import IsolatedInstallation

PAUSED = "1h"


def pod_manifest(
    name: str, *, gpus: int = 0, labels: Mapping[str, str] | None = None, pvc: str | None = None
) -> dict[str, Any]:
    """Return the manifest of a pod with one container; it is simulated, so no image is pulled."""
    container: dict[str, Any] = {"name": "main", "image": "example/image:1"}
    spec: dict[str, Any] = {"containers": [container], "restartPolicy": "Never"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    if pvc:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": pvc}}]
    return {"metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec}


async def patch_pod_labels(
    admin: AdminClient, pod: Mapping[str, Any], labels: Mapping[str, str]
) -> None:
    """Change the labels by which a simulated node decides what a pod does."""
    meta = pod["metadata"]
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    await admin.patch(path, {"metadata": {"labels": dict(labels)}})


def condition(manifest: Mapping[str, Any], condition_type: str) -> Mapping[str, Any]:
    """Return the condition of that type; empty when it was never set."""
    for item in manifest["status"].get("conditions") or ():
        if item["type"] == condition_type:
            return dict(item)
    return {}


def is_ready(manifest: Mapping[str, Any]) -> bool:
    return condition(manifest, "Ready").get("status") == "True"


def container_status(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of the first container; empty before there is one."""
    statuses = pod["status"].get("containerStatuses") or [{}]
    return dict(statuses[0])


def waiting_reason(pod: Mapping[str, Any]) -> str:
    state = container_status(pod).get("state") or {}
    return str((state.get("waiting") or {}).get("reason", ""))


def last_termination(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the last termination of the container, also before its restart; empty without one."""
    status = container_status(pod)
    for state in (status.get("state") or {}, status.get("lastState") or {}):
        if "terminated" in state:
            return dict(state["terminated"])
    return {}


async def resume_pods(
    installation: IsolatedInstallation, pods: Sequence[dict[str, Any]], label: str
) -> None:
    """End the pause of pods: `label` names their `delay`, `run-for` or `stop-for`."""
    for pod in pods:
        await patch_pod_labels(installation.admin, pod, {f"sim.local/{label}": "1ms"})
