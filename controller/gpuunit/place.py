"""Where the pending pod of a unit shall go: to a place that the unit holds already.

The scheduler keeps a freed GPU for the pod that is nominated to its node. So a place is passed on
by nominating first and letting go afterwards; otherwise whoever is first in line would get it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.pod_words import is_unschedulable
from shared.node import Node, Taint
from shared.pod import Pod
from shared.quantity import Quantity
from shared.v1alpha1.envelope import Toleration

KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Nomination:
    """A pod and the node that shall be kept for it."""

    pod: Pod
    node: str


def nomination(
    pending: Pod | None, holders: Iterable[Pod], nodes: Mapping[str, Node]
) -> Nomination | None:
    """The place of the first holder where the pod fits, once the scheduler found no other.

    None also where such a place is kept for it already.
    """
    if pending is None or not is_unschedulable(pending):
        return None
    found = [
        place_of(holder)
        for holder in holders
        if place_of(holder) in nodes and fits(pending, holder, nodes[place_of(holder)])
    ]
    if not found or pending.status.nominated_node_name in found:
        return None
    return Nomination(pending, found[0])


def place_of(holder: Pod) -> str:
    """The node that the pod is on, or that is kept for it."""
    return holder.spec.node_name or holder.status.nominated_node_name


def fits(pod: Pod, holder: Pod, node: Node) -> bool:
    """Whether `pod` can take the place of `holder`: it needs no more, and the node lets it in.

    More than the holder has may be free on the node as well, but that is not ours to know.
    """
    return (
        asks_no_more(pod, holder)
        and is_usable(node)
        and all(node.metadata.labels.get(key) == at for key, at in pod.spec.node_selector.items())
        and all(is_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints)
    )


def asks_no_more(pod: Pod, holder: Pod) -> bool:
    held = requests(holder)
    return all(amount <= held.get(name, Quantity(0)) for name, amount in requests(pod).items())


def requests(pod: Pod) -> dict[str, Quantity]:
    """What all containers ask for together."""
    total: dict[str, Quantity] = {}
    for container in pod.spec.containers:
        for name, text in container.resources.requests.items():
            nanos = total.get(name, Quantity(0)).nanos + Quantity.parse(text).nanos
            total[name] = Quantity(nanos)
    return total


def is_usable(node: Node) -> bool:
    return is_node_ready(node) and not node.spec.unschedulable


def is_node_ready(node: Node) -> bool:
    return any(found.type == "Ready" and found.status == "True" for found in node.status.conditions)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect not in KEEPS_AWAY or any(
        tolerates(toleration, taint) for toleration in tolerations
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As Kubernetes compares them: empty key and effect are every key and effect."""
    return (
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )
