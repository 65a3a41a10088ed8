"""The spec catalogue, with what there is of each spec."""

from apiserver.gateway import Cluster, Selection
from apiserver.ports.specs import SpecSummary
from apiserver.resources import GPU_UNITS
from apiserver.services.capacity import capacity
from apiserver.services.catalogue import Catalogue, CatalogueEntry
from apiserver.services.stock_choice import is_claimable
from apiserver.services.stock_summary import stock_counts
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
