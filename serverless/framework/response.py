"""Converts a handler's result to an HTTP response."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.invocation.framework_protocol import RETRYABLE_HEADER

_ERROR_STATUS: Final = 500


class Retryable(Exception):  # noqa: N818 - a handler does `raise Retryable("...")`
    """Raised by a handler whose failure may not happen again in another attempt."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response; a status of 400 and above is a failure."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


def to_response(value: object) -> Response:
    """Return the response for a handler's result; raises TypeError if it is not JSON."""
    match value:
        case Response():
            return value
        case bytes() | bytearray() | memoryview():
            return Response(bytes(value))
        case str():
            return Response(value.encode(), content_type="text/plain; charset=utf-8")
        case _:
            return Response(json.dumps(value).encode(), content_type="application/json")


def error_response(error: Exception) -> Response:
    """Return the response for an exception of the handler."""
    retryable = {RETRYABLE_HEADER: "true"} if isinstance(error, Retryable) else {}
    text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    return Response(text.encode(), _ERROR_STATUS, "application/json", retryable)
