"""JSON responses to requests that fail below the application.

These are malformed HTTP, rejected Expect headers and slow headers. aiohttp answers them in plain
text or not at all and has no hook for it, so its protocol, server and runner are overridden here.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.typedefs import Handler

from apiserver.errors import (
    DeadlineExceededError,
    HeaderTooLargeError,
    InternalError,
    InvalidRequestError,
    ServiceError,
    UriTooLongError,
)
from apiserver.http.access_log import UNMATCHED_ROUTE, AccessLog, AccessLogEntry
from apiserver.http.request_id import REQUEST_ID_HEADER
from apiserver.http.responses import failure
from shared.config.logfmt import log_context
from shared.invocation.limits import MAX_ATTRIBUTE_BYTES, MAX_HEADER_BYTES

MAX_HEADER_LINE_BYTES: Final = 8190
# The longest query of a raw invocation: percent-encoded JSON has at most four times the bytes of
# its values; parameter names, separators and the path come on top.
MAX_REQUEST_LINE_BYTES: Final = 4 * (MAX_HEADER_BYTES + MAX_ATTRIBUTE_BYTES) + MAX_HEADER_LINE_BYTES

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FallbackResponder:
    """The responder for requests that reach no application."""

    access_log: AccessLog
    make_id: Callable[[], str]
    head_timeout_seconds: float  # within which a connection must send the headers of a request

    def respond(self, request: web.BaseRequest, error: ServiceError) -> web.Response:
        """Return the error response to a request that could not be parsed, and log it."""
        response = failure(error)
        response.headers[REQUEST_ID_HEADER] = self.make_id()
        with log_context(requestID=response.headers[REQUEST_ID_HEADER]):
            self.access_log.log_request(
                AccessLogEntry("UNKNOWN", UNMATCHED_ROUTE, "", error.status, 0.0, request.remote)
            )
        response.force_close()
        return response


class _HttpProtocol(web.RequestHandler):
    """One connection; `is_request_expected` says that a request may be on its way.

    Either none has arrived yet, or the last response kept the connection alive.
    """

    __slots__ = ("_fallback", "_head_timer", "is_request_expected")

    def __init__(self, manager: web.Server, fallback: FallbackResponder, **options: Any) -> None:
        super().__init__(manager, **options)
        self.is_request_expected = True
        self._fallback = fallback
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit of the first headers."""
        super().connection_made(transport)
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Start the time limit when headers begin, end it when they are complete."""
        super().data_received(data)
        if self._messages:
            self._stop_head_timer()
        elif self._head_timer is None and self.is_between_requests():
            self._start_head_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the time limit of headers."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def _start_head_timer(self) -> None:
        self._head_timer = self._loop.call_later(
            self._fallback.head_timeout_seconds, self._on_head_timeout
        )

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._head_timer = None
        if self.is_between_requests():
            self.force_close()

    def is_between_requests(self) -> bool:
        """Return whether the next bytes begin a new request."""
        return self._waiter is not None and not self._waiter.done()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return a JSON error response; raises ConnectionError if a response has begun."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun; it cannot be replaced")
        if status >= 500:
            log.error("request_failed", exc_info=exc)
        return self._fallback.respond(request, protocol_service_error(status, exc))


class _HttpServer(web.Server):
    def __init__(self, fallback: FallbackResponder, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fallback = fallback

    def __call__(self) -> web.RequestHandler:
        return _HttpProtocol(self, self._fallback, loop=self._loop, **self._kwargs)


class JsonAppRunner(web.AppRunner):
    """A runner that responds to all failures in JSON, also to those below its application."""

    def __init__(self, app: web.Application, fallback: FallbackResponder, **options: Any) -> None:
        super().__init__(app, **options)
        self._fallback = fallback

    def has_expected_requests(self) -> bool:
        """Return whether a request may be on its way on any connection."""
        connections = self.server.connections if self.server else []
        return any(
            connection.is_request_expected
            for connection in connections
            if isinstance(connection, _HttpProtocol)
        )

    async def _make_server(self) -> web.Server:
        plain = await super()._make_server()
        return _HttpServer(
            self._fallback,
            _with_expect_fallback(plain.request_handler, self._fallback),
            request_factory=plain.request_factory,
            **plain._kwargs,  # noqa: SLF001 - the settings of the application
        )


def _with_expect_fallback(handler: Handler, fallback: FallbackResponder) -> Handler:
    """Wrap a handler: aiohttp rejects an Expect header by an exception before any middleware."""

    async def handle(request: web.Request) -> web.StreamResponse:
        set_request_expected(request, is_expected=False)
        try:
            return await handler(request)
        except web.HTTPExpectationFailed:
            return fallback.respond(request, InvalidRequestError("Expect must be 100-continue"))

    return handle


def set_request_expected(request: web.Request, *, is_expected: bool) -> None:
    """Set whether another request may follow this one on its connection."""
    if isinstance(request.protocol, _HttpProtocol):
        request.protocol.is_request_expected = is_expected


def protocol_service_error(status: int, error: BaseException | None) -> ServiceError:
    """Return the error for a failed request, without quoting the request."""
    if isinstance(error, LineTooLong):
        return too_long_error(error)
    if isinstance(error, HttpProcessingError):
        return InvalidRequestError(f"malformed HTTP: {type(error).__name__}")
    if status == 504:
        return DeadlineExceededError("the request took too long")
    return InternalError()


def too_long_error(error: LineTooLong) -> ServiceError:
    """Return the error for a too long line; only the limit tells which line it was."""
    if MAX_REQUEST_LINE_BYTES in error.args:
        return UriTooLongError(
            f"the path with its query has more than {MAX_REQUEST_LINE_BYTES} bytes"
        )
    return HeaderTooLargeError(f"a header has more than {MAX_HEADER_LINE_BYTES} bytes")
