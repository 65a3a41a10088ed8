"""Strict reading of request bodies."""

from typing import Final

from aiohttp import web
from marshmallow import ValidationError

from apiserver.deadline import DEADLINE
from apiserver.errors import (
    Detail,
    InvalidRequestError,
    SlowBodyError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from apiserver.json_body import decoded
from apiserver.query import require_known
from apiserver.schemas.request import C, RequestSchema, details_of

LARGEST: Final = 128 * 1024
MOST_DETAILS: Final = 1000

_CHARSETS: Final = ("utf-8", "utf8", "us-ascii")


async def read_body(request: web.Request, schema: RequestSchema[C]) -> C:
    """What the body asks for, with every problem of it listed by field."""
    require_known(request)
    require_json(request)
    given = decoded(await received(request))
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


async def received(request: web.Request) -> bytes:
    """The whole body; it has a time of its own, apart from that for the answer."""
    if (request.content_length or 0) > LARGEST:
        raise _too_large()
    try:
        async with request[DEADLINE].receiving():
            return await request.read()
    except TimeoutError:
        raise SlowBodyError("the body did not come in time") from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large() from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidRequestError("the body broke off or is not encoded as it says") from None


def _refused(details: tuple[Detail, ...]) -> InvalidRequestError:
    message = "the body cannot be used; see the details"
    if len(details) > MOST_DETAILS:
        message += f", which are the first {MOST_DETAILS} of {len(details)}"
    return InvalidRequestError(message, details=details[:MOST_DETAILS])


def _too_large() -> TooLargeError:
    return TooLargeError(f"the body is larger than {LARGEST // 1024} KiB")
