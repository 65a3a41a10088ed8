"""The id that ties a response to its log lines."""

import re
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from shared.config.logfmt import bound

HEADER: Final = "X-Request-ID"
REQUEST_ID: Final = web.RequestKey("request_id", str)

_ACCEPTABLE: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


def chosen(given: str | None, make: Callable[[], str]) -> str:
    """The caller's id where it is fit for a header and a log line, otherwise a made one."""
    return given if given is not None and _ACCEPTABLE.fullmatch(given) else make()


def request_ids(make: Callable[[], str]) -> Middleware:
    """Give each request an id, which is in its log lines and in its response."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[REQUEST_ID] = chosen(request.headers.get(HEADER), make)
        with bound(requestID=request[REQUEST_ID]):
            return await handler(request)

    return middleware


async def add_header(request: web.Request, response: web.StreamResponse) -> None:
    """Send the id back; a signal, because a stream sends its headers before it returns."""
    if REQUEST_ID in request:
        response.headers[HEADER] = request[REQUEST_ID]
