"""Which labels are ours to set."""

from collections.abc import Mapping
from typing import Final

from shared.v1alpha1.wellknown import APP_NAME_LABEL, KEY_PREFIX, MANAGED_BY_LABEL

_RESERVED_NAMES: Final = frozenset({APP_NAME_LABEL, MANAGED_BY_LABEL})


def is_reserved_label(name: str) -> bool:
    """Whether a label is ours; all others are the caller's."""
    return name.startswith(KEY_PREFIX) or name in _RESERVED_NAMES


def user_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Those of `labels` that are not ours."""
    return {name: value for name, value in labels.items() if not is_reserved_label(name)}
