"""Which tests begin first."""

from collections.abc import Sequence
from typing import Final

import pytest

# The small ones are last: they fill what the large ones leave.
TIERS: Final = ("e2e", "faults", "kube", "unit")


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The same tests, first those that may take longest; otherwise in their order."""
    return sorted(items, key=lambda item: (-allowed_seconds(item), tier(item)))


def allowed_seconds(item: pytest.Item) -> float:
    """The limit that a test has of its own; 0 without one."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0.0


def tier(item: pytest.Item) -> int:
    """The place of a test's folder among the others; unknown ones are last."""
    name = item.nodeid.split("/")[1] if item.nodeid.count("/") else ""
    return TIERS.index(name) if name in TIERS else len(TIERS)
