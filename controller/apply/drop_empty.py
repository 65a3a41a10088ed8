"""Removal of fields that the API server does not keep."""

from collections.abc import Mapping
from typing import Any


def drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fields` without empty text, lists and maps.

    The server drops them, so that they would always differ.
    """
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}
