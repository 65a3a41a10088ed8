"""What a handler gives back, and what becomes of it on the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.invocation.framework_protocol import RETRYABLE_HEADER

_ERROR_STATUS: Final = 500


class Retryable(Exception):  # noqa: N818 - `raise Retryable("...")` is what a handler says
    """Raised by a handler that failed, and may succeed if it is tried again."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer with everything said: status 400 and above is a failure."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


def to_response(value: object) -> Response:
    """The answer that a handler's value stands for; TypeError if it stands for none."""
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
    """The answer when a handler has raised."""
    retryable = {RETRYABLE_HEADER: "true"} if isinstance(error, Retryable) else {}
    text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    return Response(text.encode(), _ERROR_STATUS, "application/json", retryable)
