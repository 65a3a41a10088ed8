"""The labels that only our programs set."""

from collections.abc import Mapping
from typing import Final

from shared.v1alpha1.wellknown import APP_NAME_LABEL, KEY_PREFIX, MANAGED_BY_LABEL

_RESERVED_NAMES: Final = frozenset({APP_NAME_LABEL, MANAGED_BY_LABEL})


def is_reserved_label(name: str) -> bool:
    """Return whether a label is reserved for our programs; callers may set all others."""
    return name.startswith(KEY_PREFIX) or name in _RESERVED_NAMES


def user_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of `labels` that are not reserved."""
    return {name: value for name, value in labels.items() if not is_reserved_label(name)}
