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
    """Nodes that cannot be used first."""
    held, used = gpus_by_node(stock), gpus_by_node(units)

    def row(node: Node) -> NodeRow:
        return node_row(node, held[node.metadata.name], used[node.metadata.name])

    rows = tuple(map(row, nodes))
    with_gpus = sorted_by_name(filter(gpu_capacity, nodes))
    return NodesView(
        nodes=len(nodes),
        ready=sum(map(is_node_ready, nodes)),
        active=sum(each.active for each in rows),
        stock=sum(each.stock for each in rows),
        free=sum(each.free for each in rows),
        out=sum(each.out for each in rows),
        listed=top_rows(with_gpus, lambda node: node_state(node) == READY, row),
    )


def gpus_by_node(units: Iterable[DashboardUnit]) -> Counter[str]:
    """How many GPUs units hold on each node."""
    held: Counter[str] = Counter()
    for unit in units:
        held[unit.status.node_name] += unit.spec.gpu
    return held


def node_row(node: Node, stock: int, active: int) -> NodeRow:
    """Share the GPUs out; while a unit takes the place of its stock both hold it, but it is one."""
    gpus, state = gpu_capacity(node), node_state(node)
    used = min(active, gpus)
    held = min(stock, gpus - used)
    rest = gpus - used - held
    broken = max(0, gpus - gpu_allocatable(node))
    out = min(rest, broken) if state == READY else rest
    return NodeRow(
        name=node.metadata.name,
        state=state,
        product=gpu_product(node),
        active=used,
        stock=held,
        free=rest - out,
        out=out,
    )


def node_state(node: Node) -> str:
    """Whether pods run there, and whether more may come."""
    if not is_node_ready(node):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY
