"""What of the framework's answer is worth keeping."""

import re
from collections.abc import Iterable
from typing import Final

from shared.invocation.framework_protocol import RETRYABLE_HEADER
from shared.invocation.limits import MAX_HEADER_BYTES

DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"

_PRINTABLE_ASCII: Final = re.compile(r"[\t -~]*")
_MAX_CONTENT_TYPE_LENGTH: Final = 256
# They belong to the connection, or are told elsewhere in the result.
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


def filter_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that are meant for the caller, as many as fit; values are plain ASCII."""
    kept, room = dict[str, str](), MAX_HEADER_BYTES
    for name, value in headers:
        room -= len(name) + len(value)
        if room < 0:
            break
        if name.lower() not in _DROPPED_HEADERS and _PRINTABLE_ASCII.fullmatch(value):
            kept[name] = value
    return kept


def valid_content_type(value: str) -> str:
    """The content type, if it can be one."""
    is_sound = 0 < len(value) <= _MAX_CONTENT_TYPE_LENGTH and _PRINTABLE_ASCII.fullmatch(value)
    return value if is_sound else DEFAULT_CONTENT_TYPE


def is_retryable(value: str) -> bool:
    """Whether the framework says that another attempt may go well."""
    return value.strip().lower() == "true"
