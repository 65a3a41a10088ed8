"""How many units of a spec the nodes could hold if they held nothing else."""

from collections.abc import Iterable

from shared.k8s.node import Node
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import Envelope


def capacity(envelope: Envelope, nodes: Iterable[Node]) -> int:
    """Over the ready nodes that the envelope's selector lets in."""
    wanted = requests(envelope)
    return sum(fitting(wanted, node) for node in nodes if is_eligible(envelope, node))


def requests(envelope: Envelope) -> dict[str, Quantity]:
    given = {"memory": envelope.memory, "cpu": envelope.cpu}
    amounts = {name: Quantity.parse(text) for name, text in given.items() if text}
    if envelope.gpu:
        amounts[envelope.gpu_resource] = Quantity.parse(str(envelope.gpu))
    return {name: amount for name, amount in amounts.items() if amount.nanos}


def fitting(wanted: dict[str, Quantity], node: Node) -> int:
    counts = [
        Quantity.parse(node.status.allocatable.get(name, "0")).nanos // amount.nanos
        for name, amount in wanted.items()
    ]
    return min(counts, default=0)


def is_eligible(envelope: Envelope, node: Node) -> bool:
    is_ready = any(
        each.type == "Ready" and each.status == "True" for each in node.status.conditions
    )
    labels = node.metadata.labels
    return is_ready and all(labels.get(key) == at for key, at in envelope.node_selector.items())
