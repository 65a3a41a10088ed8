"""Nodes and the use of their GPUs on the dashboard."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from apiserver.dashboard.snapshot import DashboardUnit
from apiserver.dashboard.top_rows import DashboardRow, TopRows, sorted_by_name, top_rows
from apiserver.health.cluster_state import gpu_allocatable, gpu_capacity, gpu_product, is_node_ready
from shared.k8s.node import Node

READY: Final = "Ready"
NOT_READY: Final = "NotReady"
CORDONED: Final = "Cordoned"


class NodeRow(DashboardRow, frozen=True, kw_only=True):
    """The GPUs of one node by use; those that are `out` of service cannot be used."""

    name: str
    state: str
    product: str = ""
    active: int = 0
    stock: int = 0
    free: int = 0
    out: int = 0


class NodesView(msgspec.Struct, frozen=True, kw_only=True):
    """The GPUs of all nodes, and the nodes that have any."""

    nodes: int
    ready: int
    active: int
    stock: int
    free: int
    out: int
    listed: TopRows[NodeRow]


def nodes_view(
    nodes: Sequence[Node], stock: Iterable[DashboardUnit], units: Iterable[DashboardUnit]
) -> NodesView:
    """Return the view; nodes that are not ready first."""
    stock_gpus, unit_gpus = gpus_by_node(stock), gpus_by_node(units)

    def to_row(node: Node) -> NodeRow:
        name = node.metadata.name
        return node_row(node, stock_gpus[name], unit_gpus[name])

    rows = tuple(map(to_row, nodes))
    with_gpus = sorted_by_name(filter(gpu_capacity, nodes))
    return NodesView(
        nodes=len(nodes),
        ready=sum(map(is_node_ready, nodes)),
        active=sum(row.active for row in rows),
        stock=sum(row.stock for row in rows),
        free=sum(row.free for row in rows),
        out=sum(row.out for row in rows),
        listed=top_rows(with_gpus, lambda node: node_state(node) == READY, to_row),
    )


def gpus_by_node(units: Iterable[DashboardUnit]) -> Counter[str]:
    """Count the GPUs of units on each node."""
    gpus: Counter[str] = Counter()
    for unit in units:
        gpus[unit.status.node_name] += unit.spec.gpu
    return gpus


def node_row(node: Node, stock: int, active: int) -> NodeRow:
    """Return the row of a node; a GPU that a unit and its stock unit both have counts once."""
    gpus, state = gpu_capacity(node), node_state(node)
    active = min(active, gpus)
    stock = min(stock, gpus - active)
    unused = gpus - active - stock
    broken = max(0, gpus - gpu_allocatable(node))
    out = min(unused, broken) if state == READY else unused
    return NodeRow(
        name=node.metadata.name,
        state=state,
        product=gpu_product(node),
        active=active,
        stock=stock,
        free=unused - out,
        out=out,
    )


def node_state(node: Node) -> str:
    """Return NotReady, Cordoned or Ready."""
    if not is_node_ready(node):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY
