"""Prometheus metric of unfinished operations that make no progress."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controller.operation.retention import FINAL_PHASES, parse_timestamp
from controller.runtime import Cache, Clock
from shared.v1alpha1.operation import Operation, OperationType

METRIC_NAME: Final = "gpuruntime_operation_stalled_seconds"
METRIC_HELP: Final = "Longest time without progress of an unfinished operation in seconds, by type."


class StalledOperationsCollector(Collector):
    """Collector that reads the cache at each scrape; only the leader reports, as for units."""

    def __init__(
        self, operations: Cache[Operation], clock: Clock, is_leader: Callable[[], bool]
    ) -> None:
        self._operations = operations
        self._clock = clock
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(METRIC_NAME, METRIC_HELP, labels=["type"])
        if self._is_leader():
            for operation_type, seconds in stalled_seconds_by_type(
                self._operations.all(), self._clock.now()
            ).items():
                family.add_metric([operation_type], seconds)
        yield family


def stalled_seconds_by_type(operations: Iterable[Operation], now: datetime) -> dict[str, float]:
    """Return the longest wait in seconds for each type; 0 if no operation waits."""
    longest = {item.value: 0.0 for item in OperationType}
    for operation in operations:
        if operation.status.phase not in FINAL_PHASES:
            waited = (now - (last_update_time(operation) or now)).total_seconds()
            longest[operation.spec.type] = max(longest.get(operation.spec.type, 0.0), waited)
    return longest


def last_update_time(operation: Operation) -> datetime | None:
    """Return when the status last changed, else the creation time; None without either."""
    timestamps = (operation.status.updated_at, operation.metadata.creation_timestamp)
    return next((time for text in timestamps if (time := parse_timestamp(text)) is not None), None)
