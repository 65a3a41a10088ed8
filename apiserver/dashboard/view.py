"""The whole page as a value: what it shows, and nothing that changes by itself."""

import msgspec

from apiserver.dashboard.functions import FunctionsView, functions_view
from apiserver.dashboard.nodes import NodesView, nodes_view
from apiserver.dashboard.operations import OperationsView, operations_view
from apiserver.dashboard.snapshot import Sighting
from apiserver.dashboard.stock import PoolRow, SpecRow, pool_rows, spec_rows
from apiserver.dashboard.top_rows import Shortlist
from apiserver.dashboard.units import UnitsView, units_view


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """One section a field; ages are left to the reader, so that rest looks like rest."""

    stock: tuple[SpecRow, ...]
    pools: Shortlist[PoolRow]
    units: UnitsView
    operations: OperationsView
    nodes: NodesView
    functions: FunctionsView


def overview(seen: Sighting) -> Overview:
    """What the page shows of a sighting; the same sighting gives the same page."""
    return Overview(
        stock=spec_rows(seen.stock, seen.pools),
        pools=pool_rows(seen.pools),
        units=units_view(seen.units),
        operations=operations_view(seen.operations, seen.succeeded),
        nodes=nodes_view(seen.nodes, seen.stock, seen.units),
        functions=functions_view(seen.functions),
    )
