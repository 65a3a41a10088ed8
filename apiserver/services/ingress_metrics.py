"""How many invocations were accepted."""

from prometheus_client import CollectorRegistry, Counter


class IngressMetrics:
    """Counts by function; only functions that exist accept, so the labels are bounded."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accepted = Counter(
            "gpuruntime_invocations_accepted",
            "Invocations accepted, replays not counted.",
            ("function",),
            registry=registry,
        )

    def accepted(self, request_id: str) -> None:
        """Count one."""
        self._accepted.labels(request_id).inc()
