"""The names of functions and the ids of their invocations."""

import re
from typing import Final

FUNCTION_NAME_PATTERN: Final = "^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$"
INVOCATION_ID_PATTERN: Final = "^[A-Za-z0-9_-]{1,64}$"

_FUNCTION_NAME: Final = re.compile(FUNCTION_NAME_PATTERN[1:-1])
_INVOCATION_ID: Final = re.compile(INVOCATION_ID_PATTERN[1:-1])


def is_function_name(text: str) -> bool:
    """Return whether `text` is a valid name of a function."""
    return _FUNCTION_NAME.fullmatch(text) is not None


def is_invocation_id(text: str) -> bool:
    """Return whether `text` is a valid invocation id; the id is unique in its function."""
    return _INVOCATION_ID.fullmatch(text) is not None
