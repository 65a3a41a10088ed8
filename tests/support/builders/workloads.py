"""Pods, nodes and Deployments as the caches hold them, as values."""

from collections.abc import Mapping
from typing import Any

import msgspec

from controller.gpuunit.workload import Workload
from shared.k8s.deployment import Deployment
from shared.k8s.node import Node
from shared.k8s.pod import Pod

READY_CONDITION = [{"type": "Ready", "status": "True"}]
UNSCHEDULABLE_CONDITION = [
    {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/4 nodes are available",
    }
]


def new_pod(
    name: str = "one",
    *,
    node: str = "",
    requests: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    deleted: bool = False,
    **status: Any,
) -> Pod:
    """Return a pod with a status in the form of Kubernetes."""
    container = {"name": "unit", "resources": {"requests": dict(requests or {})}}
    body = {
        "metadata": {"name": name, "deletionTimestamp": "now" if deleted else None},
        "spec": {"nodeName": node, "containers": [container], **(spec or {})},
        "status": status,
    }
    return msgspec.convert(body, Pod)


def running_pod(name: str = "one", node: str = "gpu-0", **more: Any) -> Pod:
    """Return a pod that runs and is ready."""
    return new_pod(name, node=node, phase="Running", conditions=READY_CONDITION, **more)


def pending_pod(**more: Any) -> Pod:
    """Return a pod for which the scheduler found no node."""
    return new_pod("pending", **{"conditions": UNSCHEDULABLE_CONDITION, **more})


def pod_with_container_status(node: str = "gpu-0", **container: Any) -> Pod:
    """Return a pod on a node, with the status of its container."""
    return new_pod(node=node, containerStatuses=[{"name": "unit", **container}])


def new_node(name: str = "gpu-0", *, ready: bool = True, **more: Any) -> Node:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "labels": more.pop("labels", {})}
    body = {"metadata": metadata, "spec": more, "status": {"conditions": conditions}}
    return msgspec.convert(body, Node)


READY_NODES = {name: new_node(name) for name in ("gpu-0", "gpu-1")}


def new_deployment(
    *, allow_unavailable: bool = False, generation: int = 1, observed: int = 1, **status: Any
) -> Deployment:
    """Return the Deployment of a unit, by default observed by its controller."""
    paused = status.pop("paused", False)
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": int(allow_unavailable)}}
    body = {
        "metadata": {"name": "unit-one", "generation": generation},
        "spec": {"strategy": strategy, "paused": paused},
        "status": {"observedGeneration": observed, **status},
    }
    return msgspec.convert(body, Deployment)


def new_workload(*current: Pod, previous: tuple[Pod, ...] = (), **deployment: Any) -> Workload:
    return Workload(new_deployment(**deployment), current, previous)
