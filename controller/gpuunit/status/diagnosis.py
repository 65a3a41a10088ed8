"""Why a pod does not run, in the words of whoever knows it."""

from collections.abc import Mapping
from typing import Final

from controller.gpuunit.scheduling.nomination import is_node_ready
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.workload import Workload, is_held_back
from controller.status.pod_diagnosis import (
    ending_words,
    is_unschedulable,
    scheduler_words,
    sentence,
    waiting_words,
)
from shared.k8s.deployment import Deployment
from shared.k8s.node import Node
from shared.k8s.pod import ContainerStatus, Pod
from shared.v1alpha1.reasons import UnitReason

IMAGE_ERRORS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
BACK_OFF: Final = "CrashLoopBackOff"


def trouble(
    workload: Workload, nodes: Mapping[str, Node], *, is_place_kept: bool = False
) -> Verdict | None:
    """The first trouble of the current pods; without pods, what keeps them from being made."""
    for pod in workload.current:
        waits = is_place_kept and not pod.spec.node_name
        found = None if waits else pod_trouble(pod, nodes)
        if found is not None:
            return found
    if not workload.current and workload.deployment is not None:
        return pause_trouble(workload.deployment) or replica_trouble(workload.deployment)
    return None


def pod_trouble(pod: Pod, nodes: Mapping[str, Node]) -> Verdict | None:
    """First what keeps it from a node, then images, then waiting, then how it ended."""
    if not pod.spec.node_name:
        return scheduling_trouble(pod)
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for look in (image_trouble, waiting_trouble, crash_trouble):
        for found in filter(None, map(look, containers)):
            return found
    return node_trouble(pod, nodes)


def scheduling_trouble(pod: Pod) -> Verdict | None:
    """The scheduler's own text, where it has found no place."""
    if not is_unschedulable(pod):
        return None
    return Verdict.progressing(UnitReason.POD_UNSCHEDULABLE, scheduler_words(pod))


def image_trouble(container: ContainerStatus) -> Verdict | None:
    """An image that cannot be had."""
    waiting = container.state.waiting
    if waiting is None or waiting.reason not in IMAGE_ERRORS:
        return None
    return Verdict.failed(UnitReason.POD_STARTUP_FAILED, waiting_words(container))


def waiting_trouble(container: ContainerStatus) -> Verdict | None:
    waiting, said = container.state.waiting, waiting_words(container)
    if not said or (waiting is not None and waiting.reason == BACK_OFF):
        return None
    return Verdict.progressing(UnitReason.POD_STARTUP_FAILED, said)


def crash_trouble(container: ContainerStatus) -> Verdict | None:
    """The same words while it backs off and while it tries again: they do not flap."""
    if container.ready:
        return None
    waiting, ended = container.state.waiting, container.state.terminated
    last = container.last_state.terminated
    is_looping = container.restart_count > 0 and last is not None
    if is_looping or (waiting is not None and waiting.reason == BACK_OFF):
        text = "no known reason" if last is None else ending_words(last)
        said = f"{BACK_OFF}: container {container.name} ended with {text}"
        return Verdict.failed(UnitReason.POD_STARTUP_FAILED, said)
    if ended is not None and ended.exit_code != 0:
        said = f"container {container.name} ended with {ending_words(ended)}"
        return Verdict.progressing(UnitReason.POD_STARTUP_FAILED, said)
    return None


def node_trouble(pod: Pod, nodes: Mapping[str, Node]) -> Verdict | None:
    """A pod whose node is gone or not ready may still call itself ready: nobody else knows."""
    node = nodes.get(pod.spec.node_name)
    if node is not None and is_node_ready(node):
        return None
    state = "is gone" if node is None else "is not ready"
    said = f"node {pod.spec.node_name} {state}: waiting for it, or for the pod to be moved"
    return Verdict.progressing(UnitReason.UNIT_PROGRESSING, said)


def pause_trouble(deployment: Deployment) -> Verdict | None:
    if not is_held_back(deployment):
        return None
    said = f"Deployment {deployment.metadata.name} is paused: resume it to roll the change out"
    return Verdict.progressing(UnitReason.UNIT_PROGRESSING, said)


def replica_trouble(deployment: Deployment) -> Verdict | None:
    """Pods that are refused, by a quota for instance."""
    for found in deployment.status.conditions:
        if found.type == "ReplicaFailure" and found.status == "True":
            said = sentence(found.reason, found.message)
            return Verdict.progressing(UnitReason.POD_STARTUP_FAILED, said)
    return None


def progress(workload: Workload) -> str:
    """What the current pod is about to do, for a unit without trouble.

    A pod that starts at once passes through none of the stages, so that they cost no writes.
    """
    for pod in workload.current:
        node = pod.spec.node_name
        if not node and pod.status.nominated_node_name:
            return f"a place on node {pod.status.nominated_node_name} is being freed"
        if node and any(each.state.waiting for each in pod.status.container_statuses):
            return f"the container is being created on node {node}"
        if node and pod.status.phase == "Running":
            return f"the container runs on node {node} and is not ready yet"
    return "the pod is being started"
