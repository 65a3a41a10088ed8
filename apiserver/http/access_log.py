"""What is recorded of each request: one log line and three metrics."""

import logging
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from apiserver.clock import Clock

UNMATCHED: Final = "unmatched"

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_LONGEST_PATH: Final = 256
_LABELS: Final = ("route", "method", "status")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and how it was answered."""

    method: str
    route: str
    path: str
    status: int
    seconds: float
    remote: str | None


class AccessRecorder:
    """Counts and logs requests; its labels are bounded whatever clients send."""

    def __init__(self, registry: CollectorRegistry) -> None:
        name = "gpuruntime_http"
        self._requests = Counter(
            f"{name}_requests", "Requests answered.", _LABELS, registry=registry
        )
        self._seconds = Histogram(
            f"{name}_request_duration_seconds", "Time to answer.", _LABELS, registry=registry
        )
        self._in_flight = Gauge(f"{name}_in_flight", "Requests being answered.", registry=registry)

    def begin(self) -> None:
        """Count a request as being answered."""
        self._in_flight.inc()

    def end(self) -> None:
        """Count it no longer."""
        self._in_flight.dec()

    def record(self, exchange: Exchange) -> None:
        """Count and log one answered request; probes only at debug level."""
        method = exchange.method if exchange.method in _METHODS else "OTHER"
        labels = (exchange.route, method, str(exchange.status))
        self._requests.labels(*labels).inc()
        self._seconds.labels(*labels).observe(exchange.seconds)
        level = logging.DEBUG if exchange.route in _QUIET else logging.INFO
        log.log(level, "http_request", extra=_fields(exchange))


class Recording:
    """One request in flight, until it is answered."""

    def __init__(self, recorder: AccessRecorder, clock: Clock, request: web.Request) -> None:
        # The request holds this: if this held the request, both would wait for the collector.
        self._method, self._route = request.method, route_of(request)
        self._path, self._remote = request.path, request.remote
        self._recorder = recorder
        self._clock = clock
        self._started = clock.monotonic()
        self._is_in_flight = False

    def __enter__(self) -> "Recording":
        self._recorder.begin()
        self._is_in_flight = True
        return self

    def __exit__(self, *_: object) -> None:
        self._land()

    def answered(self, status: int) -> None:
        """Record it, once: a stream is answered when it begins, however long it goes on."""
        if not self._is_in_flight:
            return
        self._land()
        seconds = self._clock.monotonic() - self._started
        self._recorder.record(
            Exchange(self._method, self._route, self._path, status, seconds, self._remote)
        )

    def _land(self) -> None:
        if self._is_in_flight:
            self._is_in_flight = False
            self._recorder.end()


RECORDING: Final = web.RequestKey("recording", Recording)


def access_records(recorder: AccessRecorder, clock: Clock) -> Middleware:
    """Record every request that reaches the application."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        with Recording(recorder, clock, request) as recording:
            request[RECORDING] = recording
            response = await handler(request)
            recording.answered(response.status)
        return response

    return middleware


def route_of(request: web.Request) -> str:
    """The template of the route, never the path: paths are without number."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else UNMATCHED


def _fields(exchange: Exchange) -> dict[str, object]:
    return {
        "method": exchange.method,
        "route": exchange.route,
        "path": exchange.path[:_LONGEST_PATH],
        "status": exchange.status,
        "durationMilliseconds": round(exchange.seconds * 1000, 3),
        "remote": exchange.remote,
    }
