"""Nodes and who has their GPUs, as the page shows them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from apiserver.services.cluster import gpu_allocatable, gpu_capacity, gpu_product, is_ready
from apiserver.services.overview.shortlist import Row, Shortlist, by_name, shortlist
from apiserver.services.overview.sighting import SightedUnit
from shared.node import Node

READY: Final = "Ready"
NOT_READY: Final = "NotReady"
CORDONED: Final = "Cordoned"


class NodeRow(Row, frozen=True, kw_only=True):
    """The GPUs of one node: `stock` and `active` hold some, `broken` ones can be had by nobody."""

    name: str
    state: str
    product: str = ""
    gpus: int = 0
    active: int = 0
    stock: int = 0
    broken: int = 0


class NodesView(msgspec.Struct, frozen=True, kw_only=True):
    """The GPUs of all nodes, and the nodes that have any."""

    nodes: int
    ready: int
    gpus: int
    active: int
    stock: int
    listed: Shortlist[NodeRow]


def nodes_view(
    nodes: Sequence[Node], stock: Iterable[SightedUnit], units: Iterable[SightedUnit]
) -> NodesView:
    """Nodes that cannot be used first."""
    held, used = gpus_by_node(stock), gpus_by_node(units)

    def row(node: Node) -> NodeRow:
        return node_row(node, held[node.metadata.name], used[node.metadata.name])

    return NodesView(
        nodes=len(nodes),
        ready=sum(map(is_ready, nodes)),
        gpus=sum(map(gpu_capacity, nodes)),
        active=used.total(),
        stock=held.total(),
        listed=shortlist(
            by_name(filter(gpu_capacity, nodes)), lambda node: node_state(node) == READY, row
        ),
    )


def gpus_by_node(units: Iterable[SightedUnit]) -> Counter[str]:
    """How many GPUs units hold on each node."""
    held: Counter[str] = Counter()
    for unit in units:
        if unit.status.node_name:
            held[unit.status.node_name] += unit.spec.gpu
    return held


def node_row(node: Node, stock: int, active: int) -> NodeRow:
    """What there is to know of one node."""
    return NodeRow(
        name=node.metadata.name,
        state=node_state(node),
        product=gpu_product(node),
        gpus=gpu_capacity(node),
        active=active,
        stock=stock,
        broken=max(0, gpu_capacity(node) - gpu_allocatable(node)),
    )


def node_state(node: Node) -> str:
    """Whether pods run there, and whether more may come."""
    if not is_ready(node):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY
