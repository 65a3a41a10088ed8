"""The health of the process, of its connections and of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from apiserver.health.cluster_state import ClusterState
from apiserver.nats.port import ConnectionStatus
from shared.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """A health report; None is unknown."""

    started_at: datetime
    uptime_seconds: int
    version: str
    kubernetes_connected: bool
    kube_error: str | None
    kubernetes_version: str | None
    node_count: int | None
    ready_node_count: int | None
    total_gpu_capacity: int | None
    total_gpu_allocatable: int | None
    gpu_products: tuple[str, ...] | None
    stock_unit_count: dict[str, int] | None
    active_unit_count: dict[str, int] | None
    queue_connected: bool
    queue_error: str | None
    age_seconds: float | None


class HealthService:
    """The service that reports health from memory, without waiting."""

    def __init__(
        self,
        version: str,
        clock: Clock,
        cluster: Callable[[], ClusterState],
        queue: Callable[[], ConnectionStatus],
    ) -> None:
        self._version = version
        self._clock = clock
        self._cluster = cluster
        self._queue = queue
        self._started_at = clock.now()
        self._started_monotonic = clock.monotonic()

    def report(self) -> HealthReport:
        """Return the health of the process, of its connections and of the cluster."""
        cluster, queue, now = self._cluster(), self._queue(), self._clock.monotonic()
        inventory = cluster.inventory
        return HealthReport(
            started_at=self._started_at,
            uptime_seconds=int(now - self._started_monotonic),
            version=self._version,
            kubernetes_connected=cluster.is_connected,
            kube_error=cluster.error or cluster.inventory_error,
            kubernetes_version=cluster.version,
            node_count=inventory.nodes if inventory else None,
            ready_node_count=inventory.ready_nodes if inventory else None,
            total_gpu_capacity=inventory.gpu_capacity if inventory else None,
            total_gpu_allocatable=inventory.gpu_allocatable if inventory else None,
            gpu_products=inventory.gpu_products if inventory else None,
            stock_unit_count=cluster.units.stock if cluster.units else None,
            active_unit_count=cluster.units.active if cluster.units else None,
            queue_connected=queue.connected,
            queue_error=queue.error,
            age_seconds=data_age_seconds(cluster, now),
        )


def data_age_seconds(cluster: ClusterState, now: float) -> float | None:
    """Return the age of the oldest data about the cluster; None before the first probe."""
    times = [time for time in (cluster.checked_at, cluster.counted_at) if time is not None]
    return round(now - min(times), 1) if times else None
