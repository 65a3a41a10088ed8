"""The metric of invocations that the activator has finished."""

from prometheus_client import CollectorRegistry, Counter

from shared.invocation.state import InvocationState


class SettleMetrics:
    """Counts invocations that no worker has finished, by function and outcome."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._finished = Counter(
            "gpuruntime_invocations_finished",
            "Invocations that no worker could finish: this activator recorded their outcome.",
            ("function", "outcome"),
            registry=registry,
        )

    def count_finished(self, function_name: str, outcome: InvocationState) -> None:
        """Count an invocation whose outcome this activator has recorded."""
        self._finished.labels(function_name, outcome).inc()
