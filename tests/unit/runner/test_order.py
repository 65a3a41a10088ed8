"""Tests of the test order: tiers are mixed file by file, and long files start early."""

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import pytest

from tests.runner.file_order import sort_by_start


@dataclass(frozen=True)
class Item:
    """Collected test with only the fields that its order depends on."""

    nodeid: str
    seconds: int = 0

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        assert name == "timeout"
        return pytest.mark.timeout(self.seconds).mark if self.seconds else None


def ordered(*items: Item) -> list[str]:
    in_order = sort_by_start([cast(pytest.Item, item) for item in items])
    return [item.nodeid for item in in_order]


def test_a_file_with_a_long_time_limit_is_first_in_every_tier() -> None:
    short, long = Item("tests/e2e/test_a.py::test"), Item("tests/unit/test_b.py::test", 900)

    assert ordered(short, long) == [long.nodeid, short.nodeid]


def test_files_with_a_long_time_limit_start_early_but_not_all_at_once() -> None:
    long = [f"tests/faults/test_{name}.py::test" for name in "abcd"]
    units = [f"tests/unit/test_{number:02}.py::test" for number in range(20)]

    mixed = ordered(*(Item(name, 900) for name in long), *map(Item, units))

    positions = list(map(mixed.index, long))
    assert positions == sorted(positions)
    assert positions[-1] < len(mixed) / 2
    assert min(after - before for before, after in pairwise(positions)) > 1


def test_tiers_are_mixed_and_unit_tests_are_last() -> None:
    waiting = [f"tests/{tier}/test_{name}.py::test" for tier in ("e2e", "kube") for name in "ab"]
    units = [f"tests/unit/test_{name}.py::test" for name in "abcdefgh"]

    mixed = ordered(*map(Item, units + waiting))

    e2e, kube = waiting[:2], waiting[2:]
    for tier in (e2e, kube, units):
        assert [name for name in mixed if name in tier] == tier
    assert mixed[0] == e2e[0]
    assert mixed[-4:] == units[-4:]
    assert mixed.index(e2e[1]) < mixed.index(kube[1])
    assert all(mixed.index(second) - mixed.index(first) > 2 for first, second in (e2e, kube))


def test_the_last_files_of_the_tiers_are_ordered_e2e_faults_kube_unit() -> None:
    tiers = ("e2e", "faults", "kube", "unit")
    files = {tier: [f"tests/{tier}/test_{name}.py::test" for name in "abc"] for tier in tiers}

    mixed = ordered(*(Item(name) for names in reversed(files.values()) for name in names))

    assert [name for name in mixed if "test_c" in name] == [files[tier][-1] for tier in tiers]


def test_tests_of_one_file_keep_their_order() -> None:
    names = [f"tests/unit/test_a.py::test_{name}" for name in "cab"]

    assert ordered(*map(Item, names)) == names


def test_a_file_outside_of_any_tier_is_last() -> None:
    assert ordered(Item("test_a.py::test"), Item("tests/unit/test_b.py::test")) == [
        "tests/unit/test_b.py::test",
        "test_a.py::test",
    ]
