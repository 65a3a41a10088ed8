"""The names of functions and the ids of their invocations."""

import re
from typing import Final

PATTERN: Final = "^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$"
INVOCATION_PATTERN: Final = "^[A-Za-z0-9_-]{1,64}$"

_REQUEST_ID: Final = re.compile(PATTERN[1:-1])
_INVOCATION_ID: Final = re.compile(INVOCATION_PATTERN[1:-1])


def is_request_id(text: str) -> bool:
    """Whether `text` can be the name of a function."""
    return _REQUEST_ID.fullmatch(text) is not None


def is_invocation_id(text: str) -> bool:
    """Whether `text` can be the id of an invocation, which is unique in its function."""
    return _INVOCATION_ID.fullmatch(text) is not None
