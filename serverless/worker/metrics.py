"""What a worker counts."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from shared.invocation.record import Record

_SECONDS: Final = (0.005, 0.02, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)


class WorkerMetrics:
    """Invocations by outcome, attempts, and how long they wait and run."""

    def __init__(self, registry: CollectorRegistry, function: str) -> None:
        self._function = function
        self._finished = Counter(
            "gpuruntime_invocations_finished",
            "Invocations whose outcome this worker recorded.",
            ("function", "outcome"),
            registry=registry,
        )
        self._attempts = Counter(
            "gpuruntime_invocation_attempts",
            "Attempts that this worker began.",
            ("function",),
            registry=registry,
        )
        self._queued = Histogram(
            "gpuruntime_invocation_queue_seconds",
            "From the acceptance of a run to the beginning of its first attempt.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._ran = Histogram(
            "gpuruntime_invocation_run_seconds",
            "From the beginning of the last attempt to the outcome.",
            buckets=_SECONDS,
            registry=registry,
        )

    def begun(self, record: Record) -> None:
        """One more attempt has begun."""
        self._attempts.labels(self._function).inc()
        if record.attempts == 1:
            self._queued.observe(_seconds(record.accepted_at, record.started_at))

    def finished(self, record: Record) -> None:
        """The outcome is recorded, and we have recorded it."""
        self._finished.labels(self._function, record.state).inc()
        if record.started_at:
            self._ran.observe(_seconds(record.started_at, record.finished_at))


def _seconds(begin: int, end: int) -> float:
    return max(0, end - begin) / 1000  # clocks of two machines may disagree
