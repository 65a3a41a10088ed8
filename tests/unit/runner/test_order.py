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
    found = sort_by_start([cast(pytest.Item, item) for item in items])
    return [item.nodeid for item in found]


def test_a_file_with_a_long_limit_is_first_in_whatever_tier() -> None:
    short, long = Item("tests/e2e/test_a.py::test"), Item("tests/unit/test_b.py::test", 900)

    assert ordered(short, long) == [long.nodeid, short.nodeid]


def test_files_with_a_long_limit_are_early_but_not_all_at_once() -> None:
    long = [f"tests/faults/test_{name}.py::test" for name in "abcd"]
    units = [f"tests/unit/test_{number:02}.py::test" for number in range(20)]

    mixed = ordered(*(Item(each, 900) for each in long), *map(Item, units))

    places = list(map(mixed.index, long))
    assert places == sorted(places)
    assert places[-1] < len(mixed) / 2
    assert min(after - before for before, after in pairwise(places)) > 1


def test_tiers_are_mixed_and_unit_tests_are_last() -> None:
    waiting = [f"tests/{tier}/test_{name}.py::test" for tier in ("e2e", "kube") for name in "ab"]
    units = [f"tests/unit/test_{name}.py::test" for name in "abcdefgh"]

    mixed = ordered(*map(Item, units + waiting))

    e2e, kube = waiting[:2], waiting[2:]
    for tier in (e2e, kube, units):
        assert [each for each in mixed if each in tier] == tier
    assert mixed[0] == e2e[0]
    assert mixed[-4:] == units[-4:]
    assert mixed.index(e2e[1]) < mixed.index(kube[1])
    assert all(mixed.index(second) - mixed.index(first) > 2 for first, second in (e2e, kube))


def test_the_last_of_the_whole_systems_comes_before_the_last_of_the_parts() -> None:
    tiers = ("e2e", "faults", "kube", "unit")
    files = {tier: [f"tests/{tier}/test_{name}.py::test" for name in "abc"] for tier in tiers}

    mixed = ordered(*(Item(name) for names in reversed(files.values()) for name in names))

    assert [each for each in mixed if "test_c" in each] == [files[tier][-1] for tier in tiers]


def test_tests_of_one_file_keep_their_order() -> None:
    names = [f"tests/unit/test_a.py::test_{name}" for name in "cab"]

    assert ordered(*map(Item, names)) == names


def test_a_file_outside_of_any_tier_is_last() -> None:
    assert ordered(Item("test_a.py::test"), Item("tests/unit/test_b.py::test")) == [
        "tests/unit/test_b.py::test",
        "test_a.py::test",
    ]
