"""Looking at the whole cluster once."""

from typing import Final

from apiserver.dashboard.snapshot import SIGHTED_UNITS, Sighting
from apiserver.kube.port import Cluster, Selection
from apiserver.kube.resources import FUNCTIONS, OPERATIONS, STOCK_POOLS
from shared.v1alpha1.phases import OperationPhase

# From the server's own cache: what is shown may be a moment old, and costs no quorum read.
_ALL: Final = Selection(cached=True)
_NOT_SUCCEEDED: Final = Selection(
    fields=f"status.phase!={OperationPhase.SUCCEEDED.value}", cached=True
)
_ONE: Final = Selection(limit=1, cached=True)


class Lookout:
    """Reads what the page shows, one list after the other."""

    def __init__(self, cluster: Cluster, stock: str, instance: str, system: str) -> None:
        self._cluster = cluster
        self._stock = stock
        self._instance = instance
        self._system = system

    async def look(self) -> Sighting:
        """All that is to be seen now; ClusterError."""
        cluster = self._cluster
        operations = (await cluster.list(OPERATIONS, self._system, _NOT_SUCCEEDED)).items
        return Sighting(
            nodes=await cluster.nodes(),
            stock=(await cluster.list(SIGHTED_UNITS, self._stock, _ALL)).items,
            units=(await cluster.list(SIGHTED_UNITS, self._instance, _ALL)).items,
            pools=(await cluster.list(STOCK_POOLS, self._stock, _ALL)).items,
            operations=operations,
            succeeded=max(0, await self._remembered() - len(operations)),
            functions=(await cluster.list(FUNCTIONS, self._instance, _ALL)).items,
        )

    async def _remembered(self) -> int:
        """How many operations there are: a day's may be too many to read for their number."""
        page = await self._cluster.list(OPERATIONS, self._system, _ONE)
        return len(page.items) + (page.remaining or 0)
