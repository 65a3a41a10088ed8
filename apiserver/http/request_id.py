"""The X-Request-ID header, which connects a response with its log lines."""

import re
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from shared.config.logfmt import log_context

REQUEST_ID_HEADER: Final = "X-Request-ID"
REQUEST_ID_KEY: Final = web.RequestKey("request_id", str)

_VALID_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


def choose_request_id(sent_id: str | None, make_id: Callable[[], str]) -> str:
    """Return the caller's id if it is valid in headers and logs, else a new one."""
    return sent_id if sent_id is not None and _VALID_REQUEST_ID.fullmatch(sent_id) else make_id()


def request_id_middleware(make_id: Callable[[], str]) -> Middleware:
    """Assign an id to each request for its log lines and its response."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[REQUEST_ID_KEY] = choose_request_id(request.headers.get(REQUEST_ID_HEADER), make_id)
        with log_context(requestID=request[REQUEST_ID_KEY]):
            return await handler(request)

    return middleware


async def add_request_id_header(request: web.Request, response: web.StreamResponse) -> None:
    """Add the id to a response; a signal, since a stream sends its headers before it returns."""
    if REQUEST_ID_KEY in request:
        response.headers[REQUEST_ID_HEADER] = request[REQUEST_ID_KEY]
