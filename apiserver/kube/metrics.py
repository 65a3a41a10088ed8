"""Metrics of requests to Kubernetes, with the names of client-go."""

from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram

NO_RESPONSE_CODE: Final = "<error>"

_LATENCY_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class RestMetrics:
    """Counters and durations of requests to the API server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests",
            "Requests to Kubernetes by status code.",
            ("code", "method", "host"),
            registry=registry,
        )
        self._seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Time until the response was complete, or its stream began.",
            ("verb", "host"),
            buckets=_LATENCY_BUCKETS,
            registry=registry,
        )

    def observe_request(self, server: str, method: str, code: str, seconds: float) -> None:
        """Record one request; `code` is NO_RESPONSE_CODE if there was no response."""
        host = urlsplit(server).netloc
        self._requests.labels(code, method, host).inc()
        self._seconds.labels(method, host).observe(seconds)
