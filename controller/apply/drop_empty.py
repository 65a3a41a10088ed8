"""Objects without the fields that the API server does not keep."""

from collections.abc import Mapping
from typing import Any


def drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` without empty text, lists and maps, which would never be found as they were sent."""
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}
