"""How many invocations were accepted here, and how many ended here."""

from prometheus_client import CollectorRegistry, Counter

from shared.invocation.state import InvocationState


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

    def count_accepted(self, function_name: str) -> None:
        """Count one."""
        self._accepted.labels(function_name).inc()

    def count_finished(self, function_name: str, state: InvocationState) -> None:
        """Count one whose outcome we have recorded."""
        self._finished.labels(function_name, state).inc()
