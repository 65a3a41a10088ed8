"""The whole page as a value: what it shows, and nothing that changes by itself."""

import msgspec

from apiserver.dashboard.functions import FunctionsView, functions_view
from apiserver.dashboard.nodes import NodesView, nodes_view
from apiserver.dashboard.operations import OperationsView, operations_view
from apiserver.dashboard.snapshot import ClusterSnapshot
from apiserver.dashboard.stock import PoolRow, SpecRow, pool_rows, spec_rows
from apiserver.dashboard.top_rows import TopRows
from apiserver.dashboard.units import UnitsView, units_view


class DashboardView(msgspec.Struct, frozen=True, kw_only=True):
    """One section a field; ages are left to the reader, so that rest looks like rest."""

    stock: tuple[SpecRow, ...]
    pools: TopRows[PoolRow]
    units: UnitsView
    operations: OperationsView
    nodes: NodesView
    functions: FunctionsView


def dashboard_view(snapshot: ClusterSnapshot) -> DashboardView:
    """What the page shows of a sighting; the same sighting gives the same page."""
    return DashboardView(
        stock=spec_rows(snapshot.stock, snapshot.pools),
        pools=pool_rows(snapshot.pools),
        units=units_view(snapshot.units),
        operations=operations_view(snapshot.operations, snapshot.succeeded_operations),
        nodes=nodes_view(snapshot.nodes, snapshot.stock, snapshot.units),
        functions=functions_view(snapshot.functions),
    )
