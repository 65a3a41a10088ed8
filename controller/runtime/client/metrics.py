"""Metrics of requests, with the names, labels and buckets of client-go."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

NO_RESPONSE_CODE: Final = "<error>"
LATENCY_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class RestMetrics:
    """The metrics of all requests to the API server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
            registry=registry,
        )
        self.retries = Counter(
            "rest_client_request_retries",
            "Number of request retries, partitioned by status code, verb, and host.",
            ("code", "verb", "host"),
            registry=registry,
        )
        self.request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
