"""Metrics of control loops, with the names, labels and buckets of controller-runtime."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SUCCESS: Final = "success"
REQUEUE_AFTER: Final = "requeue_after"
ERROR: Final = "error"

# fmt: off
DURATION_BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
)
# fmt: on


class LoopMetrics:
    """The metrics of all control loops of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, help_text: str, *labels: str) -> Counter:
            return Counter(
                f"controller_runtime_{name}",
                help_text,
                ("controller", *labels),
                registry=registry,
            )

        def gauge(name: str, help_text: str) -> Gauge:
            return Gauge(
                f"controller_runtime_{name}", help_text, ("controller",), registry=registry
            )

        self.reconciles = counter("reconcile", "Reconciles that ended, by result.", "result")
        self.errors = counter("reconcile_errors", "Reconciles that failed.")
        self.terminal_errors = counter(
            "terminal_reconcile_errors", "Failures that are not retried."
        )
        self.panics = counter("reconcile_panics", "Reconciles that raised an unexpected error.")
        self.timeouts = counter("reconcile_timeouts", "Reconciles that reached their deadline.")
        self.max_concurrent = gauge("max_concurrent_reconciles", "Reconciles that may run at once.")
        self.active_workers = gauge("active_workers", "Reconciles that run now.")
        self.reconcile_seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "The duration of a reconcile in seconds.",
            ("controller",),
            buckets=DURATION_BUCKETS,
            registry=registry,
        )


class LabelledLoopMetrics:
    """The time series of one control loop; all of them exist from the start."""

    def __init__(self, metrics: LoopMetrics, controller: str) -> None:
        self._results = {
            result: metrics.reconciles.labels(controller, result)
            for result in (SUCCESS, REQUEUE_AFTER, ERROR)
        }
        self.errors = metrics.errors.labels(controller)
        self.terminal_errors = metrics.terminal_errors.labels(controller)
        self.panics = metrics.panics.labels(controller)
        self.timeouts = metrics.timeouts.labels(controller)
        self.max_concurrent = metrics.max_concurrent.labels(controller)
        self.active_workers = metrics.active_workers.labels(controller)
        self.reconcile_seconds = metrics.reconcile_seconds.labels(controller)

    def count_result(self, result: str) -> None:
        """Count a reconcile by its result."""
        self._results[result].inc()
        if result == ERROR:
            self.errors.inc()
