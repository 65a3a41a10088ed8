"""Changes between two values as a JSON merge patch (RFC 7386).

Models leave out fields that have their default, and a merge patch keeps fields that it does not
name. So a number that returns to 0 must be removed by name.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


def create_merge_patch(before: msgspec.Struct | None, after: msgspec.Struct) -> dict[str, Any]:
    """Return the merge patch from `before` to `after`; empty if they are equal."""
    old = {} if before is None else msgspec.to_builtins(before)
    return _object_patch(old, msgspec.to_builtins(after))


def _object_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    removed = {name: None for name in before if name not in after}
    changed = {
        name: _value_patch(before.get(name), value)
        for name, value in after.items()
        if name not in before or before[name] != value
    }
    return {**removed, **changed}


def _value_patch(before: Any, after: Any) -> Any:
    """Return the patch of one value.

    Maps are merged by key; other values, also lists, are replaced.
    """
    is_merged = isinstance(before, Mapping) and isinstance(after, Mapping)
    return _object_patch(before, after) if is_merged else after
