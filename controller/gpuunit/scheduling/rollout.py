"""Decision when the old pod of a rollout stops for the new one.

Before that the Deployment may not stop the old pod (maxUnavailable 0). With maxUnavailable 1 the
deployment controller scales the old ReplicaSet down and creates no replacement of the old template.
"""

from collections.abc import Mapping
from typing import Any

from controller.gpuunit.pod_requests import is_within_requests_of
from controller.gpuunit.workload import Workload, bound_or_nominated_node
from shared.v1alpha1.gpuunit import GPUUnit


def should_stop_old_pod_first(unit: GPUUnit, workload: Workload) -> bool:
    """Return whether the old pod must stop: its node or its volume is kept for the new pod.

    A stop that has begun continues until the rollout is complete.
    """
    deployment = workload.deployment
    if deployment is None or not workload.is_generation_observed:
        return False
    if is_stopping_old_pod_first(deployment.spec):
        return not is_rollout_complete(workload)
    return bool(workload.retained_previous_pods) and (
        is_nominated_to_old_node(workload)
        or (bool(unit.spec.storage_mounts) and is_new_pod_scheduled(workload))
    )


def is_stopping_old_pod_first(spec: Mapping[str, Any]) -> bool:
    """Return whether the Deployment allows that its old pod stops first."""
    strategy = spec.get("strategy", {}).get("rollingUpdate") or {}
    return bool(strategy.get("maxUnavailable") == 1)


def is_rollout_complete(workload: Workload) -> bool:
    return bool(workload.ready_pods) and not workload.previous_pods


def is_nominated_to_old_node(workload: Workload) -> bool:
    """Return whether the new pod is nominated to the node of an old pod, and fits there."""
    pending = workload.pending_pod
    return pending is not None and any(
        pending.status.nominated_node_name == pod.spec.node_name
        and is_within_requests_of(pending, pod)
        for pod in workload.retained_previous_pods
    )


def is_new_pod_scheduled(workload: Workload) -> bool:
    """Return whether the new pod is on a node already."""
    return any(pod.spec.node_name for pod in workload.current_pods)


def has_node_or_nomination(workload: Workload) -> bool:
    """Return whether the new pod is on a node or nominated to one."""
    return any(map(bound_or_nominated_node, workload.current_pods))
