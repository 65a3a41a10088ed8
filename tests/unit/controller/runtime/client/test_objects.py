"""Tests of resource versions: they are compared in the API server's order, if that is certain."""

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.client.objects import is_older_version

VERSIONS = st.integers(min_value=1, max_value=10**30)
NON_NUMERIC = st.text().filter(lambda text: not text.isdecimal())


@given(VERSIONS, VERSIONS)
def test_numeric_versions_are_ordered_by_number(first: int, second: int) -> None:
    assert is_older_version(str(first), str(second)) == (first < second)


def test_a_version_with_more_digits_is_newer() -> None:
    assert is_older_version("9", "10")
    assert not is_older_version("10", "9")


@given(VERSIONS)
def test_zero_is_older_than_every_version(version: int) -> None:
    assert is_older_version("0", str(version))


@given(NON_NUMERIC, st.text())
def test_a_non_numeric_version_is_neither_older_nor_newer(text: str, other: str) -> None:
    assert not is_older_version(text, other)
    assert not is_older_version(other, text)
