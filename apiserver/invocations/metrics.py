"""Metrics of invocations that this replica accepted or finished."""

from prometheus_client import CollectorRegistry, Counter

from shared.invocation.state import InvocationState


class InvocationMetrics:
    """Counters by function; only existing functions accept, which bounds the labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accepted = Counter(
            "gpuruntime_invocations_accepted",
            "Accepted invocations, without replays.",
            ("function",),
            registry=registry,
        )
        self._finished = Counter(
            "gpuruntime_invocations_finished",
            "Invocations whose outcome this API recorded, such as those cancelled while queued.",
            ("function", "outcome"),
            registry=registry,
        )

    def count_accepted(self, function_name: str) -> None:
        """Count an accepted invocation."""
        self._accepted.labels(function_name).inc()

    def count_finished(self, function_name: str, state: InvocationState) -> None:
        """Count an invocation whose outcome this replica recorded."""
        self._finished.labels(function_name, state).inc()
