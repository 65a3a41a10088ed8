"""The spec catalogue, with what there is of each spec."""

from apiserver.kube.port import Cluster, Selection
from apiserver.kube.resources import GPU_UNITS
from apiserver.specs.capacity import capacity
from apiserver.specs.catalogue import Catalogue, CatalogueEntry
from apiserver.specs.port import SpecSummary
from apiserver.specs.stock_counts import stock_counts
from apiserver.units.stock_selection import is_claimable
from shared.k8s.node import Node
from shared.v1alpha1.gpuunit import GPUUnit


class SpecService:
    """The use cases of the catalogue."""

    def __init__(self, objects: Cluster, namespace: str, catalogue: Catalogue) -> None:
        self._objects = objects
        self._namespace = namespace
        self._catalogue = catalogue

    async def list(self) -> tuple[SpecSummary, ...]:
        """Every spec, in the order of their names."""
        page = await self._objects.list(GPU_UNITS, self._namespace, Selection(cached=True))
        nodes = await self._objects.nodes()
        entries = sorted(self._catalogue.entries.items())
        return tuple(summary(name, entry, page.items, nodes) for name, entry in entries)


def summary(
    name: str, entry: CatalogueEntry, stock: tuple[GPUUnit, ...], nodes: tuple[Node, ...]
) -> SpecSummary:
    mine = [unit for unit in stock if unit.spec.spec_name == name]
    return SpecSummary(
        envelope=entry.envelope,
        description=entry.description,
        stock={count.phase: count.count for count in stock_counts(mine)},
        available=sum(map(is_claimable, mine)),
        capacity=capacity(entry.envelope, nodes),
    )
