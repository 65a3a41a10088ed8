"""Tests of the table of measurements."""

import pytest

from tests.bench.table import with_unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", "-"),
        (12.345, "s", "12.3 s"),
        (0.0123, "s", "12.3 ms"),
        (0, "writes", "0 writes"),
        (4, "writes", "4 writes"),
        (4.036, "writes", "4.04 writes"),
        (3_300.4, "B", "3,300 B"),
    ],
)
def test_a_value_is_formatted_with_three_significant_digits_and_its_unit(
    value: float | None, unit: str, text: str
) -> None:
    assert with_unit(value, unit) == text
