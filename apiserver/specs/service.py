"""The spec catalogue, with the stock of each spec."""

from dataclasses import dataclass, field

from apiserver.kube.port import KubeClient, ListOptions
from apiserver.kube.resources import GPU_UNITS
from apiserver.specs.capacity import unit_capacity
from apiserver.specs.catalogue import Catalogue, CatalogueEntry
from apiserver.specs.stock_counts import count_stock
from apiserver.units.stock_selection import is_claimable
from shared.k8s.node import Node
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.unit_resources import UnitResources


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecSummary:
    """A spec of the catalogue with its stock; a capacity of None is unknown."""

    resources: UnitResources
    description: str = ""
    stock: dict[str, int] = field(default_factory=dict)
    available: int = 0
    capacity: int | None = None


class SpecService:
    """Lists the catalogue."""

    def __init__(self, objects: KubeClient, namespace: str, catalogue: Catalogue) -> None:
        self._objects = objects
        self._namespace = namespace
        self._catalogue = catalogue

    async def list(self) -> tuple[SpecSummary, ...]:
        """Return every spec, by name."""
        page = await self._objects.list(GPU_UNITS, self._namespace, ListOptions(from_cache=True))
        nodes = await self._objects.list_nodes()
        entries = sorted(self._catalogue.entries.items())
        return tuple(spec_summary(name, entry, page.items, nodes) for name, entry in entries)


def spec_summary(
    name: str, entry: CatalogueEntry, stock_units: tuple[GPUUnit, ...], nodes: tuple[Node, ...]
) -> SpecSummary:
    units = [unit for unit in stock_units if unit.spec.spec_name == name]
    return SpecSummary(
        resources=entry.resources,
        description=entry.description,
        stock={count.phase: count.count for count in count_stock(units)},
        available=sum(map(is_claimable, units)),
        capacity=unit_capacity(entry.resources, nodes),
    )
