"""The reports of measured programs: one JSON object on stdout."""

from collections.abc import Sequence

import msgspec


class SyncReport(msgspec.Struct):
    """Initial syncs, one after the other; the memory is that of the last."""

    seconds: list[float]
    objects: int
    lists: int = 0
    watches: int = 0
    heap_per_object: float = 0.0
    rss_per_object: float = 0.0
    rss_untidy_per_object: float = 0.0

    @property
    def best(self) -> float:
        return min(self.seconds)


class LatencyReport(msgspec.Struct):
    """Seconds from the writer's timestamp to the start of the reconcile."""

    count: int = 0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class IdleReport(msgspec.Struct):
    """The cost of a synced informer while nothing changes."""

    objects: int
    cpu_seconds: float
    writes: int


def summarise(values: Sequence[float]) -> LatencyReport:
    """Return percentiles, computed as the anchor does."""
    if not values:
        return LatencyReport()
    ordered = sorted(values)

    def at(part: float) -> float:
        return ordered[int(part * (len(ordered) - 1))]

    return LatencyReport(len(ordered), at(0.5), at(0.9), at(0.99), at(1.0))
