"""The metrics of a worker."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from shared.invocation.record import InvocationRecord

_BUCKETS: Final = (0.005, 0.02, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)


class WorkerMetrics:
    """Invocations by outcome, attempts, queue time and run time."""

    def __init__(self, registry: CollectorRegistry, function_name: str) -> None:
        self._function_name = function_name
        self._finished = Counter(
            "gpuruntime_invocations_finished",
            "Invocations whose outcome this worker recorded.",
            ("function", "outcome"),
            registry=registry,
        )
        self._attempts = Counter(
            "gpuruntime_invocation_attempts",
            "Attempts that this worker started.",
            ("function",),
            registry=registry,
        )
        self._queue_seconds = Histogram(
            "gpuruntime_invocation_queue_seconds",
            "Seconds from the acceptance of a run to the start of its first attempt.",
            buckets=_BUCKETS,
            registry=registry,
        )
        self._run_seconds = Histogram(
            "gpuruntime_invocation_run_seconds",
            "Seconds from the start of the last attempt to the outcome.",
            buckets=_BUCKETS,
            registry=registry,
        )

    def observe_attempt(self, record: InvocationRecord) -> None:
        """Count a started attempt."""
        self._attempts.labels(self._function_name).inc()
        if record.attempts == 1:
            self._queue_seconds.observe(_elapsed_seconds(record.accepted_at, record.started_at))

    def observe_finished(self, record: InvocationRecord) -> None:
        """Count a run whose outcome this worker has recorded."""
        self._finished.labels(self._function_name, record.state).inc()
        if record.started_at:
            self._run_seconds.observe(_elapsed_seconds(record.started_at, record.finished_at))


def _elapsed_seconds(start: int, end: int) -> float:
    return max(0, end - start) / 1000  # clocks of two machines may differ
