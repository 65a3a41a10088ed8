"""The collector of snapshots of the whole cluster."""

from typing import Final

from apiserver.dashboard.snapshot import DASHBOARD_UNITS, ClusterSnapshot
from apiserver.kube.port import KubeClient, ListOptions
from apiserver.kube.resources import FUNCTIONS, OPERATIONS, STOCK_POOLS
from shared.v1alpha1.phases import OperationPhase

# From the cache of the API server: may be a moment old, and costs no quorum read.
_ALL: Final = ListOptions(from_cache=True)
_NOT_SUCCEEDED: Final = ListOptions(
    field_selector=f"status.phase!={OperationPhase.SUCCEEDED.value}", from_cache=True
)
_FIRST: Final = ListOptions(limit=1, from_cache=True)


class SnapshotCollector:
    """A reader of the objects of the dashboard, one list after the other."""

    def __init__(
        self,
        cluster: KubeClient,
        stock_namespace: str,
        instance_namespace: str,
        system_namespace: str,
    ) -> None:
        self._cluster = cluster
        self._stock_namespace = stock_namespace
        self._instance_namespace = instance_namespace
        self._system_namespace = system_namespace

    async def collect(self) -> ClusterSnapshot:
        """Return a snapshot; raises KubeError."""
        cluster = self._cluster
        operations = (await cluster.list(OPERATIONS, self._system_namespace, _NOT_SUCCEEDED)).items
        return ClusterSnapshot(
            nodes=await cluster.list_nodes(),
            stock=(await cluster.list(DASHBOARD_UNITS, self._stock_namespace, _ALL)).items,
            units=(await cluster.list(DASHBOARD_UNITS, self._instance_namespace, _ALL)).items,
            pools=(await cluster.list(STOCK_POOLS, self._stock_namespace, _ALL)).items,
            operations=operations,
            succeeded_operations=max(0, await self._count_operations() - len(operations)),
            functions=(await cluster.list(FUNCTIONS, self._instance_namespace, _ALL)).items,
        )

    async def _count_operations(self) -> int:
        """Count the operations; those of a day may be too many to read."""
        page = await self._cluster.list(OPERATIONS, self._system_namespace, _FIRST)
        return len(page.items) + (page.remaining or 0)
