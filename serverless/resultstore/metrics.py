"""The metrics of the result store."""

from prometheus_client import CollectorRegistry, Counter


class OutcomeMetrics:
    """Counts outcomes by result."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.stored = Counter(
            "gpuruntime_outcomes_stored",
            "Outcomes that PostgreSQL has taken, repetitions too.",
            registry=registry,
        )
        self.refused = Counter(
            "gpuruntime_outcomes_refused",
            "Outcomes that cannot be read or stored.",
            registry=registry,
        )
        self.failed = Counter(
            "gpuruntime_outcome_batches_failed",
            "Batches that have to be tried again.",
            registry=registry,
        )
