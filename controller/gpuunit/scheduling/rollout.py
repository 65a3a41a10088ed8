"""When the old pod of a rollout gives way to the new one.

Until then the Deployment may not take it down (maxUnavailable 0). With maxUnavailable 1 the
deployment controller takes the old ReplicaSet down and makes no replacement of the old template.
"""

from collections.abc import Mapping
from typing import Any

from controller.gpuunit.scheduling.nomination import asks_no_more, place_of
from controller.gpuunit.workload import Workload
from shared.v1alpha1.gpuunit import GPUUnit


def gives_way(unit: GPUUnit, workload: Workload) -> bool:
    """Whether the old pod shall go: its place is kept for the new one, or its volume is needed.

    Once begun it goes on until the rollout is complete.
    """
    deployment = workload.deployment
    if deployment is None or not workload.is_observed:
        return False
    if is_giving_way(deployment.spec):
        return not is_complete(workload)
    return bool(workload.standing) and (
        is_place_kept(workload) or (bool(unit.spec.storage_mounts) and is_bound(workload))
    )


def is_giving_way(spec: Mapping[str, Any]) -> bool:
    """Whether the Deployment was told so."""
    strategy = spec.get("strategy", {}).get("rollingUpdate") or {}
    return bool(strategy.get("maxUnavailable") == 1)


def is_complete(workload: Workload) -> bool:
    return bool(workload.ready) and not workload.previous


def is_place_kept(workload: Workload) -> bool:
    """Whether the new pod is nominated to the place of an old one, and fits there."""
    pending = workload.pending
    return pending is not None and any(
        pending.status.nominated_node_name == pod.spec.node_name and asks_no_more(pending, pod)
        for pod in workload.standing
    )


def is_bound(workload: Workload) -> bool:
    """Whether the new pod is on a node already."""
    return any(pod.spec.node_name for pod in workload.current)


def has_place(workload: Workload) -> bool:
    """Whether the new pod is on a node, or one is kept for it."""
    return any(map(place_of, workload.current))
