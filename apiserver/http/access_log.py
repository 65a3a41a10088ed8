"""The access log and the metrics of HTTP requests."""

import logging
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from shared.clock import Clock

UNMATCHED_ROUTE: Final = "unmatched"

_KNOWN_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET_ROUTES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_MAX_LOGGED_PATH_LENGTH: Final = 256
_METRIC_LABELS: Final = ("route", "method", "status")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccessLogEntry:
    """One request and the status and duration of its response."""

    method: str
    route: str
    path: str
    status: int
    seconds: float
    remote: str | None


class AccessLog:
    """The log and metrics of requests; clients cannot create unbounded metric labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        name = "gpuruntime_http"
        self._requests = Counter(
            f"{name}_requests", "Completed requests.", _METRIC_LABELS, registry=registry
        )
        self._seconds = Histogram(
            f"{name}_request_duration_seconds",
            "Time until the response.",
            _METRIC_LABELS,
            registry=registry,
        )
        self._in_flight = Gauge(f"{name}_in_flight", "Requests in progress.", registry=registry)

    def request_started(self) -> None:
        """Count a request as in flight."""
        self._in_flight.inc()

    def request_ended(self) -> None:
        """Count a request as no longer in flight."""
        self._in_flight.dec()

    def log_request(self, entry: AccessLogEntry) -> None:
        """Count and log one request; probes and scrapes at debug level."""
        method = entry.method if entry.method in _KNOWN_METHODS else "OTHER"
        labels = (entry.route, method, str(entry.status))
        self._requests.labels(*labels).inc()
        self._seconds.labels(*labels).observe(entry.seconds)
        level = logging.DEBUG if entry.route in _QUIET_ROUTES else logging.INFO
        log.log(level, "http_request", extra=_log_fields(entry))


class AccessLogTimer:
    """The timer of one request, which is in flight until its response is logged."""

    def __init__(self, access_log: AccessLog, clock: Clock, request: web.Request) -> None:
        # The timer keeps no reference to the request, because the request refers to the timer: only
        # the GC would free such a cycle.
        self._method, self._route = request.method, route_template(request)
        self._path, self._remote = request.path, request.remote
        self._access_log = access_log
        self._clock = clock
        self._started_at = clock.monotonic()
        self._is_in_flight = False

    def __enter__(self) -> "AccessLogTimer":
        self._access_log.request_started()
        self._is_in_flight = True
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def log_answered(self, status: int) -> None:
        """Log the response once: a streamed response counts as answered when it begins."""
        if not self._is_in_flight:
            return
        self._end()
        seconds = self._clock.monotonic() - self._started_at
        self._access_log.log_request(
            AccessLogEntry(self._method, self._route, self._path, status, seconds, self._remote)
        )

    def _end(self) -> None:
        if self._is_in_flight:
            self._is_in_flight = False
            self._access_log.request_ended()


ACCESS_LOG_TIMER: Final = web.RequestKey("access_log_timer", AccessLogTimer)


def access_log_middleware(access_log: AccessLog, clock: Clock) -> Middleware:
    """Log every request that reaches the application."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        with AccessLogTimer(access_log, clock, request) as timer:
            request[ACCESS_LOG_TIMER] = timer
            response = await handler(request)
            timer.log_answered(response.status)
        return response

    return middleware


def route_template(request: web.Request) -> str:
    """Return the template of the route.

    Paths are not used as labels, because their number is unlimited.
    """
    resource = request.match_info.route.resource
    return resource.canonical if resource else UNMATCHED_ROUTE


def _log_fields(entry: AccessLogEntry) -> dict[str, object]:
    return {
        "method": entry.method,
        "route": entry.route,
        "path": entry.path[:_MAX_LOGGED_PATH_LENGTH],
        "status": entry.status,
        "durationMilliseconds": round(entry.seconds * 1000, 3),
        "remote": entry.remote,
    }
