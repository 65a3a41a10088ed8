"""Nomination of a unit's pending pod to a node that the unit holds already.

The scheduler keeps freed resources for the pod that is nominated to their node. So the pod is
nominated before the occupant is deleted; otherwise the first pod in the queue would get them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.gpuunit.pod_requests import is_within_gpu_requests_of, is_within_requests_of
from controller.gpuunit.workload import bound_or_nominated_node
from controller.status.pod_diagnosis import is_unschedulable
from shared.k8s.node import Node, Taint
from shared.k8s.pod import Pod, Toleration

BLOCKING_TAINT_EFFECTS: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Nomination:
    """Pod, and the node to keep for it."""

    pod: Pod
    node_name: str


def choose_nomination(
    pending_pod: Pod | None,
    stock_pods: Iterable[Pod],
    own_pods: Iterable[Pod],
    nodes: Mapping[str, Node],
) -> Nomination | None:
    """Choose the first suitable node of a holder for a pod that the scheduler could not place.

    A pod of claimed stock only needs to hold enough GPUs. A pod of the unit itself must hold all
    requested resources: otherwise its stop would not help. None if there is no such node, or if the
    pod is nominated to one already.
    """
    if pending_pod is None or not is_unschedulable(pending_pod):
        return None
    reserved_pods = [pod for pod in stock_pods if is_within_gpu_requests_of(pending_pod, pod)]
    replaceable_pods = [pod for pod in own_pods if is_within_requests_of(pending_pod, pod)]
    node_names = map(bound_or_nominated_node, (*reserved_pods, *replaceable_pods))
    suitable = [
        name for name in node_names if name in nodes and is_node_suitable(pending_pod, nodes[name])
    ]
    if not suitable or pending_pod.status.nominated_node_name in suitable:
        return None
    return Nomination(pending_pod, suitable[0])


def is_node_suitable(pod: Pod, node: Node) -> bool:
    """Return whether the node would accept the pod if it had enough free resources."""
    return (
        is_node_schedulable(node)
        and all(
            node.metadata.labels.get(key) == label for key, label in pod.spec.node_selector.items()
        )
        and all(is_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints)
    )


def is_node_schedulable(node: Node) -> bool:
    return is_node_ready(node) and not node.spec.unschedulable


def is_node_ready(node: Node) -> bool:
    return any(item.type == "Ready" and item.status == "True" for item in node.status.conditions)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect not in BLOCKING_TAINT_EFFECTS or any(
        tolerates(toleration, taint) for toleration in tolerations
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Compare as Kubernetes does: an empty key or effect matches any."""
    return (
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )
