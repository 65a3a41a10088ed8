"""The metrics of the result store."""

from prometheus_client import CollectorRegistry, Counter


class OutcomeMetrics:
    """Counts outcomes by result."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.stored = Counter(
            "gpuruntime_outcomes_stored",
            "Outcomes that PostgreSQL has stored, including repeated ones.",
            registry=registry,
        )
        self.refused = Counter(
            "gpuruntime_outcomes_refused",
            "Outcomes that are unreadable or that PostgreSQL refused.",
            registry=registry,
        )
        self.failed = Counter(
            "gpuruntime_outcome_batches_failed",
            "Batches of outcomes that were not stored and are retried.",
            registry=registry,
        )
