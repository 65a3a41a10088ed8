"""The results of a framework call, and the part of a response that is kept."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from shared.invocation.framework_protocol import RETRYABLE_HEADER
from shared.invocation.limits import MAX_HEADER_BYTES

DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"

_PRINTABLE_ASCII: Final = re.compile(r"[\t -~]*")
_MAX_CONTENT_TYPE_LENGTH: Final = 256
# These belong to the connection, or are other fields of the result.
_DROPPED_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "content-type",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "server",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        RETRYABLE_HEADER.lower(),
    }
)


@dataclass(frozen=True, slots=True)
class FrameworkResponse:
    """The framework has responded, with any status."""

    status: int
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | bytearray = b""
    is_retryable: bool = False


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The framework was not reachable or did not respond; another attempt may succeed."""

    reason: str


@dataclass(frozen=True, slots=True)
class InvalidResponse:
    """The response is not HTTP, or incomplete."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResponseTooLarge:
    """The response is larger than the limit."""


@dataclass(frozen=True, slots=True)
class DeadlineExceeded:
    """The deadline passed before the response."""


@dataclass(frozen=True, slots=True)
class CallCancelled:
    """The caller has cancelled the invocation."""


@dataclass(frozen=True, slots=True)
class PayloadLost:
    """The framework was not called: the payload no longer exists."""


FrameworkResult = (
    FrameworkResponse
    | NoResponse
    | InvalidResponse
    | ResponseTooLarge
    | DeadlineExceeded
    | CallCancelled
    | PayloadLost
)


def filter_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers for the caller, as many as fit; values are printable ASCII."""
    filtered, free_bytes = dict[str, str](), MAX_HEADER_BYTES
    for name, value in headers:
        free_bytes -= len(name) + len(value)
        if free_bytes < 0:
            break
        if name.lower() not in _DROPPED_HEADERS and _PRINTABLE_ASCII.fullmatch(value):
            filtered[name] = value
    return filtered


def valid_content_type(value: str) -> str:
    """Return the content type if it is valid, else the default."""
    is_valid = 0 < len(value) <= _MAX_CONTENT_TYPE_LENGTH and _PRINTABLE_ASCII.fullmatch(value)
    return value if is_valid else DEFAULT_CONTENT_TYPE


def is_retryable(value: str) -> bool:
    """Whether the framework marks its failure as retryable."""
    return value.strip().lower() == "true"
