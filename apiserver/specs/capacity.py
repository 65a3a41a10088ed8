"""Capacity of the nodes for units of one spec."""

from collections.abc import Iterable

from shared.k8s.node import Node
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import UnitResources


def unit_capacity(resources: UnitResources, nodes: Iterable[Node]) -> int:
    """Return how many units fit on the empty ready nodes that the node selector allows."""
    requests = resource_requests(resources)
    return sum(
        count_fitting_units(requests, node) for node in nodes if is_eligible(resources, node)
    )


def resource_requests(resources: UnitResources) -> dict[str, Quantity]:
    texts = {"memory": resources.memory, "cpu": resources.cpu}
    amounts = {name: Quantity.parse(text) for name, text in texts.items() if text}
    if resources.gpu:
        amounts[resources.gpu_resource] = Quantity.parse(str(resources.gpu))
    return {name: amount for name, amount in amounts.items() if amount.nanos}


def count_fitting_units(requests: dict[str, Quantity], node: Node) -> int:
    counts = [
        Quantity.parse(node.status.allocatable.get(name, "0")).nanos // amount.nanos
        for name, amount in requests.items()
    ]
    return min(counts, default=0)


def is_eligible(resources: UnitResources, node: Node) -> bool:
    is_ready = any(
        condition.type == "Ready" and condition.status == "True"
        for condition in node.status.conditions
    )
    labels = node.metadata.labels
    selector = resources.node_selector.items()
    return is_ready and all(labels.get(key) == value for key, value in selector)
