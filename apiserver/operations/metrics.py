"""Metrics of operations."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

DURATION_BUCKETS: Final = (
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)


class OperationMetrics:
    """Counts and times the operations that this replica finished."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            "gpuruntime_operations",
            "Finished operations, by type and outcome.",
            ("type", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "gpuruntime_operation_duration_seconds",
            "Duration of the work on an operation, in seconds.",
            ("type",),
            buckets=DURATION_BUCKETS,
            registry=registry,
        )

    def observe_finished(self, operation_type: str, outcome: str, seconds: float) -> None:
        """Count one finished operation and its duration."""
        self._total.labels(operation_type, outcome).inc()
        self._seconds.labels(operation_type).observe(seconds)
