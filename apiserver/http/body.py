"""Strict reading of request bodies."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from aiohttp import web
from marshmallow import ValidationError

from apiserver.errors import (
    Detail,
    InvalidRequestError,
    SlowBodyError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from apiserver.http.deadline import DEADLINE
from apiserver.http.json_body import decoded
from apiserver.http.query import require_known
from apiserver.schemas.request import C, RequestSchema, details_of

LARGEST: Final = 128 * 1024
MOST_DETAILS: Final = 1000

_CHARSETS: Final = ("utf-8", "utf8", "us-ascii")


async def read_body(request: web.Request, schema: RequestSchema[C], largest: int = LARGEST) -> C:
    """What the body asks for, with every problem of it listed by field."""
    require_known(request)
    require_json(request)
    given = decoded(await received(request, largest))
    try:
        return schema.read(given)
    except ValidationError as error:
        raise _refused(details_of(error)) from None


def require_json(request: web.Request) -> None:
    """Refuse a body of another type: it would be read as something that it is not."""
    if request.content_type != "application/json":
        raise UnsupportedMediaTypeError("the request needs a body of type application/json")
    if (request.charset or "utf-8").lower() not in _CHARSETS:
        raise UnsupportedMediaTypeError("the body must be UTF-8")


async def received(request: web.Request, largest: int) -> bytes:
    """The whole body; it has a time of its own, apart from that for the answer."""
    if request.content.is_eof():  # it came with the headers: there is nothing to wait for
        return _arrived(request, largest)
    async with receiving(request):
        return b"".join([chunk async for chunk in chunks(request, largest)])


def _arrived(request: web.Request, largest: int) -> bytes:
    _require_small(request.content_length or 0, largest)
    with _told_as_broken():
        body = request.content.read_nowait()
    _require_small(len(body), largest)
    return body


@asynccontextmanager
async def receiving(request: web.Request) -> AsyncIterator[None]:
    """Count the length of the block as the time of the body; SlowBodyError when it is up."""
    try:
        async with request[DEADLINE].receiving():
            yield
    except TimeoutError:
        raise SlowBodyError("the body did not come in time") from None


async def chunks(request: web.Request, largest: int) -> AsyncIterator[bytes]:
    """The body piece by piece."""
    _require_small(request.content_length or 0, largest)
    size = 0
    with _told_as_broken():
        async for chunk in request.content.iter_any():
            size += len(chunk)
            _require_small(size, largest)
            yield chunk


@contextmanager
def _told_as_broken() -> Iterator[None]:
    try:
        yield
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidRequestError("the body broke off or is not encoded as it says") from None


def _require_small(size: int, largest: int) -> None:
    if size > largest:
        raise too_large(largest)


def _refused(details: tuple[Detail, ...]) -> InvalidRequestError:
    message = "the body cannot be used; see the details"
    if len(details) > MOST_DETAILS:
        message += f", which are the first {MOST_DETAILS} of {len(details)}"
    return InvalidRequestError(message, details=details[:MOST_DETAILS])


def too_large(largest: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than {largest // 1024} KiB")
