"""Diagnosis of a unit whose pod does not run, with the texts of scheduler and kubelet."""

from collections.abc import Mapping
from typing import Final

from controller.gpuunit.scheduling.nomination import is_node_ready
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.workload import Workload, is_paused_before_rollout
from controller.status.pod_diagnosis import (
    has_image_error,
    is_unschedulable,
    join_nonempty,
    scheduling_message,
    termination_message,
    waiting_message,
)
from shared.k8s.deployment import Deployment
from shared.k8s.node import Node
from shared.k8s.pod import ContainerStatus, Pod
from shared.v1alpha1.reasons import UnitReason

CRASH_LOOP: Final = "CrashLoopBackOff"


def diagnose_workload(
    workload: Workload, nodes: Mapping[str, Node], *, awaits_nominated_node: bool = False
) -> UnitReadiness | None:
    """Report the first problem of the current pods; without pods, why there are none."""
    for pod in workload.current_pods:
        is_expected = awaits_nominated_node and not pod.spec.node_name
        problem = None if is_expected else diagnose_pod(pod, nodes)
        if problem is not None:
            return problem
    if not workload.current_pods and workload.deployment is not None:
        return diagnose_pause(workload.deployment) or diagnose_replica_failure(workload.deployment)
    return None


def diagnose_pod(pod: Pod, nodes: Mapping[str, Node]) -> UnitReadiness | None:
    """Report scheduling, images, waiting, crashes and the node, in this order; None if healthy."""
    if not pod.spec.node_name:
        return diagnose_scheduling(pod)
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for diagnose in (diagnose_image, diagnose_waiting, diagnose_crash):
        for problem in filter(None, map(diagnose, containers)):
            return problem
    return diagnose_node(pod, nodes)


def diagnose_scheduling(pod: Pod) -> UnitReadiness | None:
    """Report the text of the scheduler if it found no node."""
    if not is_unschedulable(pod):
        return None
    return UnitReadiness.progressing(UnitReason.POD_UNSCHEDULABLE, scheduling_message(pod))


def diagnose_image(container: ContainerStatus) -> UnitReadiness | None:
    """Report an image that cannot be pulled."""
    if not has_image_error(container):
        return None
    return UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, waiting_message(container))


def diagnose_waiting(container: ContainerStatus) -> UnitReadiness | None:
    waiting, message = container.state.waiting, waiting_message(container)
    if not message or (waiting is not None and waiting.reason == CRASH_LOOP):
        return None
    return UnitReadiness.progressing(UnitReason.POD_STARTUP_FAILED, message)


def diagnose_crash(container: ContainerStatus) -> UnitReadiness | None:
    """Report a crash, with the same text during the back-off and the next attempt."""
    if container.ready:
        return None
    waiting, ended = container.state.waiting, container.state.terminated
    last = container.last_state.terminated
    is_looping = container.restart_count > 0 and last is not None
    if is_looping or (waiting is not None and waiting.reason == CRASH_LOOP):
        text = "unknown reason" if last is None else termination_message(last)
        message = f"{CRASH_LOOP}: container {container.name} ended with {text}"
        return UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, message)
    if ended is not None and ended.exit_code != 0:
        message = f"container {container.name} ended with {termination_message(ended)}"
        return UnitReadiness.progressing(UnitReason.POD_STARTUP_FAILED, message)
    return None


def diagnose_node(pod: Pod, nodes: Mapping[str, Node]) -> UnitReadiness | None:
    """Report a node that is deleted or not ready: its pods may still have the condition Ready."""
    node = nodes.get(pod.spec.node_name)
    if node is not None and is_node_ready(node):
        return None
    state = "is gone" if node is None else "is not ready"
    message = f"node {pod.spec.node_name} {state}: waiting for it, or for the pod to be moved"
    return UnitReadiness.progressing(UnitReason.NODE_LOST, message)


def diagnose_pause(deployment: Deployment) -> UnitReadiness | None:
    if not is_paused_before_rollout(deployment):
        return None
    message = f"Deployment {deployment.metadata.name} is paused: resume it to roll out the change"
    return UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, message)


def diagnose_replica_failure(deployment: Deployment) -> UnitReadiness | None:
    """Report that the API server rejects the pods, because of a quota for instance."""
    for condition in deployment.status.conditions:
        if condition.type == "ReplicaFailure" and condition.status == "True":
            message = join_nonempty(condition.reason, condition.message)
            return UnitReadiness.progressing(UnitReason.POD_STARTUP_FAILED, message)
    return None


def progress_message(workload: Workload) -> str:
    """Describe the stage of the current pod, for a unit without problems.

    A pod that starts at once goes through none of these stages, which saves writes.
    """
    for pod in workload.current_pods:
        node = pod.spec.node_name
        if not node and pod.status.nominated_node_name:
            return f"resources on node {pod.status.nominated_node_name} are being freed"
        if node and any(status.state.waiting for status in pod.status.container_statuses):
            return f"the container is being created on node {node}"
        if node and pod.status.phase == "Running":
            return f"the container runs on node {node} and is not ready yet"
    return "the pod is being started"
