"""Requests that fail below the application: broken HTTP and refused expectations.

aiohttp answers these in plain text before any middleware runs, and offers no hook; its
protocol, its server and its runner are each overridden in one place here and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from apiserver.access import UNMATCHED, AccessRecorder, Exchange
from apiserver.envelope import failure
from apiserver.errors import DeadlineError, InternalError, InvalidRequestError, ServiceError
from apiserver.request_id import HEADER
from shared.logfmt import bound


@dataclass(frozen=True, slots=True)
class Fallback:
    """What it takes to answer without an application."""

    recorder: AccessRecorder
    make_id: Callable[[], str]

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
    __slots__ = ("_fallback",)

    def __init__(self, manager: web.Server, fallback: Fallback, **options: Any) -> None:
        super().__init__(manager, **options)
        self._fallback = fallback

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
        try:
            return await handler(request)
        except web.HTTPExpectationFailed:
            return fallback.answer(request, InvalidRequestError("only 100-continue is expected"))

    return answer


def reason(status: int, error: BaseException | None) -> ServiceError:
    """Say what is wrong with a request without repeating what it sent."""
    if isinstance(error, HttpProcessingError):
        return InvalidRequestError(f"malformed HTTP: {type(error).__name__}")
    if status == 504:
        return DeadlineError("the request took too long")
    return InternalError()
