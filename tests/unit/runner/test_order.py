"""The order of tests: long ones begin first, and nothing else is torn apart."""

from dataclasses import dataclass
from typing import cast

import pytest

from tests.runner.order import longest_first


@dataclass(frozen=True)
class Item:
    """As much of a collected test as its order depends on."""

    nodeid: str
    seconds: int = 0

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        assert name == "timeout"
        return pytest.mark.timeout(self.seconds).mark if self.seconds else None


def ordered(*items: Item) -> list[str]:
    found = longest_first([cast(pytest.Item, item) for item in items])
    return [item.nodeid for item in found]


def test_the_longest_limit_is_first_in_whatever_tier() -> None:
    short, long = Item("tests/e2e/test_a.py::test"), Item("tests/unit/test_b.py::test", 900)
    middle = Item("tests/kube/test_c.py::test", 300)

    assert ordered(short, middle, long) == [long.nodeid, middle.nodeid, short.nodeid]


def test_tiers_follow_each_other_from_the_whole_system_to_the_single_function() -> None:
    tiers = ("e2e", "faults", "kube", "unit", "new")
    expected = [f"tests/{tier}/test_a.py::test" for tier in tiers]

    assert ordered(*map(Item, sorted(expected))) == expected


def test_tests_of_one_file_keep_their_order() -> None:
    names = [f"tests/unit/test_a.py::test_{name}" for name in "cab"]

    assert ordered(*map(Item, names)) == names


def test_a_file_outside_of_any_tier_is_last() -> None:
    assert ordered(Item("test_a.py::test"), Item("tests/unit/test_b.py::test")) == [
        "tests/unit/test_b.py::test",
        "test_a.py::test",
    ]
