"""The order in which test files start."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import pytest

from tests.runner.progress import test_file

# Each tier is spread over this share of the order, so that at any time some file mainly
# computes. Tiers with long files end early: a long file at the end leaves processes idle.
TIER_SHARES: Final = {"e2e": 0.5, "faults": 0.7, "kube": 0.8, "unit": 1.0}
# Files with a time limit of their own need most CPU. Several at once take much longer than one
# after the other.
LONG_FILES_SHARE: Final = 0.4


def sort_by_start(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Sort tests by the position of their file; a file's tests stay together and in order.

    Files of unknown tiers are last.
    """
    files = [list(tests) for _, tests in groupby(items, lambda item: test_file(item.nodeid))]
    long = [file for file in files if has_long_limit(file)]
    others = [file for file in files if not has_long_limit(file)]
    placed = spread_files(long, LONG_FILES_SHARE)
    for name, share in TIER_SHARES.items():
        placed += spread_files([file for file in others if tier_name(file) == name], share)
    placed += [(1.0, file) for file in others if tier_name(file) not in TIER_SHARES]
    placed.sort(key=lambda item: item[0])
    return [item for _, file in placed for item in file]


def spread_files(
    files: Sequence[list[pytest.Item]], share: float
) -> list[tuple[float, list[pytest.Item]]]:
    """Pair each file with its position from 0 to below `share`, all equally far apart."""
    return [(share * number / len(files), file) for number, file in enumerate(files)]


def has_long_limit(file: Iterable[pytest.Item]) -> bool:
    """Return whether a test of the file has a time limit of its own, which is always long."""
    return any(item.get_closest_marker("timeout") for item in file)


def tier_name(file: Sequence[pytest.Item]) -> str:
    """Return the name of the file's folder below `tests`; empty if it is in none."""
    parts = file[0].nodeid.split("/")
    return parts[1] if len(parts) > 2 else ""
