"""Requests that fail below the application: broken HTTP, refused expectations, slow headers.

aiohttp answers these in plain text or not at all, and offers no hook; its
protocol, its server and its runner are each overridden in one place here and nowhere else.
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
    AddressTooLongError,
    DeadlineError,
    HeaderTooLongError,
    InternalError,
    InvalidRequestError,
    ServiceError,
)
from apiserver.http.access_log import UNMATCHED, AccessRecorder, Exchange
from apiserver.http.request_id import HEADER
from apiserver.http.responses import failure
from shared.config.logfmt import bound
from shared.invocation.limits import MAX_ATTRIBUTE_BYTES, MAX_HEADER_BYTES

LONGEST_HEADER: Final = 8190
# What a raw invocation may carry in its query: percent-encoded JSON has at most four times the
# bytes of what it says, and the names, the signs between headers and the path come on top.
LONGEST_ADDRESS: Final = 4 * (MAX_HEADER_BYTES + MAX_ATTRIBUTE_BYTES) + LONGEST_HEADER

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fallback:
    """What it takes to answer without an application."""

    recorder: AccessRecorder
    make_id: Callable[[], str]
    head_timeout: float  # seconds until a connection must have sent the headers of a request

    def answer(self, request: web.BaseRequest, error: ServiceError) -> web.Response:
        """Answer and record a request of which next to nothing is known."""
        response = failure(error)
        response.headers[HEADER] = self.make_id()
        with bound(requestID=response.headers[HEADER]):
            self.recorder.record(
                Exchange("UNKNOWN", UNMATCHED, "", error.status, 0.0, request.remote)
            )
        response.force_close()
        return response


class _Protocol(web.RequestHandler):
    """One connection; `expects_request` says that a request may be on its way.

    Either none has come yet, or the answer to the last one has said that the connection is kept.
    """

    __slots__ = ("_fallback", "_head_timer", "expects_request")

    def __init__(self, manager: web.Server, fallback: Fallback, **options: Any) -> None:
        super().__init__(manager, **options)
        self.expects_request = True
        self._fallback = fallback
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers where they have begun; an idle connection may idle."""
        super().data_received(data)
        if self._messages:
            self._stop_timer()
        elif self._head_timer is None and self.is_between_requests():
            self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait for nothing more."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self._loop.call_later(self._fallback.head_timeout, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.is_between_requests():
            self.force_close()

    def is_between_requests(self) -> bool:
        """Whether whatever comes next is a new request."""
        return self._waiter is not None and not self._waiter.done()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer in the envelope, unless an answer has already begun."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun; it cannot be replaced")
        if status >= 500:
            log.error("request_failed", exc_info=exc)
        return self._fallback.answer(request, reason(status, exc))


class _Server(web.Server):
    def __init__(self, fallback: Fallback, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fallback = fallback

    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, self._fallback, loop=self._loop, **self._kwargs)


class EnvelopeRunner(web.AppRunner):
    """Runs an application whose every answer is in the envelope."""

    def __init__(self, app: web.Application, fallback: Fallback, **options: Any) -> None:
        super().__init__(app, **options)
        self._fallback = fallback

    def expects_requests(self) -> bool:
        """Tell whether a caller has a connection on which a request may be on its way."""
        connections = self.server.connections if self.server else []
        return any(each.expects_request for each in connections if isinstance(each, _Protocol))

    async def _make_server(self) -> web.Server:
        plain = await super()._make_server()
        return _Server(
            self._fallback,
            _covered(plain.request_handler, self._fallback),
            request_factory=plain.request_factory,
            **plain._kwargs,  # noqa: SLF001 - what the application itself chose
        )


def _covered(handler: Handler, fallback: Fallback) -> Handler:
    """An Expect header is judged before any middleware, and refused by an exception."""

    async def answer(request: web.Request) -> web.StreamResponse:
        expect_request(request, expected=False)
        try:
            return await handler(request)
        except web.HTTPExpectationFailed:
            return fallback.answer(request, InvalidRequestError("only 100-continue is expected"))

    return answer


def expect_request(request: web.Request, *, expected: bool) -> None:
    """Note whether another request may follow this one on its connection."""
    if isinstance(request.protocol, _Protocol):
        request.protocol.expects_request = expected


def reason(status: int, error: BaseException | None) -> ServiceError:
    """Say what is wrong with a request without repeating what it sent."""
    if isinstance(error, LineTooLong):
        return too_long(error)
    if isinstance(error, HttpProcessingError):
        return InvalidRequestError(f"malformed HTTP: {type(error).__name__}")
    if status == 504:
        return DeadlineError("the request took too long")
    return InternalError()


def too_long(error: LineTooLong) -> ServiceError:
    """The parser tells only by its limit what it was reading."""
    if LONGEST_ADDRESS in error.args:
        return AddressTooLongError(f"the path with its query has more than {LONGEST_ADDRESS} bytes")
    return HeaderTooLongError(f"a header has more than {LONGEST_HEADER} bytes")
