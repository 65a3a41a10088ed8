"""How many invocations were accepted here, and how many ended here."""

from prometheus_client import CollectorRegistry, Counter

from shared.invocation.state import State


class InvocationMetrics:
    """Counts by function; only functions that exist accept, so the labels are bounded."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accepted = Counter(
            "gpuruntime_invocations_accepted",
            "Invocations accepted, replays not counted.",
            ("function",),
            registry=registry,
        )
        self._finished = Counter(
            "gpuruntime_invocations_finished",
            "Invocations whose outcome this API recorded: those cancelled before they ran.",
            ("function", "outcome"),
            registry=registry,
        )

    def accepted(self, request_id: str) -> None:
        """Count one."""
        self._accepted.labels(request_id).inc()

    def finished(self, request_id: str, outcome: State) -> None:
        """Count one whose outcome we have recorded."""
        self._finished.labels(request_id, outcome).inc()
