"""Where the pending pod of a unit shall go: to a place that the unit holds already.

The scheduler keeps a freed GPU for the pod that is nominated to its node. So a place is passed on
by nominating first and letting go afterwards; otherwise whoever is first in line would get it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.gpuunit.pod_requests import is_within_gpu_requests_of, is_within_requests_of
from controller.gpuunit.workload import bound_or_nominated_node
from controller.status.pod_diagnosis import is_unschedulable
from shared.k8s.node import Node, Taint
from shared.k8s.pod import Pod
from shared.v1alpha1.unit_resources import Toleration

BLOCKING_TAINT_EFFECTS: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Nomination:
    """A pod and the node that shall be kept for it."""

    pod: Pod
    node_name: str


def choose_nomination(
    pending_pod: Pod | None,
    stock_pods: Iterable[Pod],
    own_pods: Iterable[Pod],
    nodes: Mapping[str, Node],
) -> Nomination | None:
    """The first place where the pod may go, once the scheduler found no other.

    Of the claimed stock it gets the GPUs, whatever else it may lack there; a pod of the unit's own
    would go for nothing unless it fits. None also where such a place is kept for it already.
    """
    if pending_pod is None or not is_unschedulable(pending_pod):
        return None
    passed_on = [holder for holder in stock_pods if is_within_gpu_requests_of(pending_pod, holder)]
    taken_over = [holder for holder in own_pods if is_within_requests_of(pending_pod, holder)]
    places = map(bound_or_nominated_node, (*passed_on, *taken_over))
    found = [
        place for place in places if place in nodes and is_node_suitable(pending_pod, nodes[place])
    ]
    if not found or pending_pod.status.nominated_node_name in found:
        return None
    return Nomination(pending_pod, found[0])


def is_node_suitable(pod: Pod, node: Node) -> bool:
    """Whether the node would take the pod if it had the room."""
    return (
        is_node_schedulable(node)
        and all(node.metadata.labels.get(key) == at for key, at in pod.spec.node_selector.items())
        and all(is_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints)
    )


def is_node_schedulable(node: Node) -> bool:
    return is_node_ready(node) and not node.spec.unschedulable


def is_node_ready(node: Node) -> bool:
    return any(found.type == "Ready" and found.status == "True" for found in node.status.conditions)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect not in BLOCKING_TAINT_EFFECTS or any(
        tolerates(toleration, taint) for toleration in tolerations
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As Kubernetes compares them: empty key and effect are every key and effect."""
    return (
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )
