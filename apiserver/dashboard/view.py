"""The view of the whole dashboard as a value."""

import msgspec

from apiserver.dashboard.functions import FunctionsView, functions_view
from apiserver.dashboard.nodes import NodesView, nodes_view
from apiserver.dashboard.operations import OperationsView, operations_view
from apiserver.dashboard.snapshot import ClusterSnapshot
from apiserver.dashboard.stock import PoolRow, SpecRow, pool_rows, spec_rows
from apiserver.dashboard.top_rows import TopRows
from apiserver.dashboard.units import UnitsView, units_view


class DashboardView(msgspec.Struct, frozen=True, kw_only=True):
    """One section per field; without ages, so that an unchanged cluster gives an equal view."""

    stock: tuple[SpecRow, ...]
    pools: TopRows[PoolRow]
    units: UnitsView
    operations: OperationsView
    nodes: NodesView
    functions: FunctionsView


def dashboard_view(snapshot: ClusterSnapshot) -> DashboardView:
    """Return the view of a snapshot; equal snapshots give equal views."""
    return DashboardView(
        stock=spec_rows(snapshot.stock, snapshot.pools),
        pools=pool_rows(snapshot.pools),
        units=units_view(snapshot.units),
        operations=operations_view(snapshot.operations, snapshot.succeeded_operations),
        nodes=nodes_view(snapshot.nodes, snapshot.stock, snapshot.units),
        functions=functions_view(snapshot.functions),
    )
