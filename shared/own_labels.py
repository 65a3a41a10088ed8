"""Which labels are ours to set."""

from typing import Final

from shared.wellknown import APP_NAME_LABEL, MANAGED_BY_LABEL, PREFIX

_OURS: Final = frozenset({APP_NAME_LABEL, MANAGED_BY_LABEL})


def is_own_label(name: str) -> bool:
    """Whether a label is ours; all others are the caller's."""
    return name.startswith(PREFIX) or name in _OURS
