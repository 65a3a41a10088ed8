"""What of the framework's answer is worth keeping."""

import re
from collections.abc import Iterable
from typing import Final

from shared.invocation.framework_protocol import RETRYABLE_HEADER
from shared.invocation.limits import MAX_HEADER_BYTES

DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"

_PLAIN: Final = re.compile(r"[\t -~]*")
_LONGEST_TYPE: Final = 256
# They belong to the connection, or are told elsewhere in the result.
_LEFT_OUT: Final = frozenset(
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


def kept_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that are meant for the caller, as many as fit; values are plain ASCII."""
    kept, room = dict[str, str](), MAX_HEADER_BYTES
    for name, value in headers:
        room -= len(name) + len(value)
        if room < 0:
            break
        if name.lower() not in _LEFT_OUT and _PLAIN.fullmatch(value):
            kept[name] = value
    return kept


def kept_content_type(value: str) -> str:
    """The content type, if it can be one."""
    is_sound = 0 < len(value) <= _LONGEST_TYPE and _PLAIN.fullmatch(value)
    return value if is_sound else DEFAULT_CONTENT_TYPE


def is_retryable(value: str) -> bool:
    """Whether the framework says that another attempt may go well."""
    return value.strip().lower() == "true"
