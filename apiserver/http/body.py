"""Strict reading of request bodies: media type, size, time limit, JSON and schema."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from aiohttp import web
from marshmallow import ValidationError

from apiserver.errors import (
    BodyTimeoutError,
    BodyTooLargeError,
    ErrorDetail,
    InvalidRequestError,
    ServiceUnavailableError,
    UnsupportedMediaTypeError,
)
from apiserver.http.deadline import DEADLINE
from apiserver.http.query import require_no_query
from apiserver.schemas.request import C, RequestSchema, error_details
from apiserver.schemas.strict_json import InvalidJsonError, parse_strict_json

MAX_JSON_BODY_BYTES: Final = 128 * 1024
MAX_DETAILS: Final = 1000

_UTF8_CHARSETS: Final = ("utf-8", "utf8", "us-ascii")


async def read_json_body(
    request: web.Request, schema: RequestSchema[C], max_bytes: int = MAX_JSON_BODY_BYTES
) -> C:
    """Read a JSON body by its schema; raises InvalidRequestError with a detail per bad field."""
    require_no_query(request)
    require_json(request)
    body = decode_json_object(await read_bytes(request, max_bytes))
    try:
        return schema.parse(body)
    except ValidationError as error:
        raise _invalid_body_error(error_details(error)) from None


def require_json(request: web.Request) -> None:
    """Raise UnsupportedMediaTypeError unless the body is UTF-8 JSON."""
    if request.content_type != "application/json":
        raise UnsupportedMediaTypeError("the request body must be application/json")
    if (request.charset or "utf-8").lower() not in _UTF8_CHARSETS:
        raise UnsupportedMediaTypeError("the request body must be encoded in UTF-8")


def decode_json_object(body: bytes) -> dict[str, Any]:
    """Decode a JSON object; raises InvalidRequestError for anything else."""
    try:
        value = parse_strict_json(_decode_utf8(body))
    except InvalidJsonError as error:
        raise InvalidRequestError(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidRequestError("the body must be a JSON object")
    return value


def _decode_utf8(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidJsonError(f"byte {error.start} is not UTF-8") from None


async def read_bytes(request: web.Request, max_bytes: int) -> bytes:
    """Read the whole body within its own time limit."""
    if request.content.is_eof():  # the whole body arrived together with the headers
        return _read_buffered(request, max_bytes)
    async with body_time_limit(request):
        return b"".join([chunk async for chunk in iter_chunks(request, max_bytes)])


def _read_buffered(request: web.Request, max_bytes: int) -> bytes:
    _require_max_size(request.content_length or 0, max_bytes)
    with _translate_read_errors():
        body = request.content.read_nowait()
    _require_max_size(len(body), max_bytes)
    return body


@asynccontextmanager
async def body_time_limit(request: web.Request) -> AsyncIterator[None]:
    """Apply the time limit of the body to the block; raises BodyTimeoutError."""
    try:
        async with request[DEADLINE].body_time_limit():
            yield
    except TimeoutError:
        raise BodyTimeoutError("the body was not received in time") from None


async def iter_chunks(request: web.Request, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body in chunks; raises BodyTooLargeError, InvalidRequestError."""
    _require_max_size(request.content_length or 0, max_bytes)
    size = 0
    with _translate_read_errors():
        async for chunk in request.content.iter_any():
            size += len(chunk)
            _require_max_size(size, max_bytes)
            yield chunk


@contextmanager
def _translate_read_errors() -> Iterator[None]:
    try:
        yield
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidRequestError("the body is incomplete, or its encoding is invalid") from None


def _require_max_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise body_too_large_error(max_bytes)


def _invalid_body_error(details: tuple[ErrorDetail, ...]) -> InvalidRequestError:
    message = "the body is invalid; see the details"
    if len(details) > MAX_DETAILS:
        message += f" (the first {MAX_DETAILS} of {len(details)})"
    return InvalidRequestError(message, details=details[:MAX_DETAILS])


def body_too_large_error(max_bytes: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"the body is larger than {max_bytes // 1024} KiB")


class ByteBudget:
    """A limited number of bytes, reserved by a request before it reads its body."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._reserved_bytes = 0

    @contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Reserve bytes for the length of the block; a single request is always admitted.

        Raises ServiceUnavailableError if the budget is used up.
        """
        if self._reserved_bytes and self._reserved_bytes + size > self._max_bytes:
            raise ServiceUnavailableError(
                "the API receives too many large payloads at the moment; retry", retry_after=1
            )
        self._reserved_bytes += size
        try:
            yield
        finally:
            self._reserved_bytes -= size
