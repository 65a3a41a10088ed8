"""Tests of quantities: the exact values of Kubernetes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.k8s.quantity import (
    MAX_NANOS,
    MAX_TEXT_LENGTH,
    NANOS_PER_UNIT,
    UNSIGNED_PATTERN,
    Quantity,
)

SCALES = {
    **{"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)},
    **{"k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12)},
    **{"P": Fraction(10**15), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)},
    **{
        "Ti": Fraction(2**40),
        "Pi": Fraction(2**50),
        "e3": Fraction(1000),
        "E-3": Fraction(1, 1000),
    },
}


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0),
        ("64Gi", 64 * 2**30),
        ("1.5Gi", 3 * 2**29),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("+2", 2),
        ("-2k", -2000),
        ("5.", 5),
        (".5k", 500),
    ],
)
def test_a_suffix_scales_the_number(text: str, units: int) -> None:
    assert Quantity.parse(text).nanos == units * NANOS_PER_UNIT


def test_a_quantity_below_a_nano_is_rounded_away_from_zero() -> None:
    assert Quantity.parse("0.1n") == Quantity(1)
    assert Quantity.parse("-0.1n") == Quantity(-1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 Gi",
        "Gi",
        "1GI",
        "1gi",
        "1K",
        "1e",
        "1e1.5",
        "0x10",
        "--1",
        "1,5",
        "1\n",
        "٣",
        ".",
    ],
)
def test_a_malformed_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity such as 64Gi"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1e19", "8Ei", "1e999", "-1e19"])
def test_a_quantity_above_the_kubernetes_maximum_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="exceeds the maximum of Kubernetes"):
        Quantity.parse(text)


def test_a_very_long_quantity_is_refused_without_parsing_it() -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        Quantity.parse("9" * 10_000_000)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *[("1024Mi", "1Gi"), ("1536Mi", "1536Mi"), ("1000m", "1"), ("0.5", "500m")],
        *[("1000k", "1M"), ("0Gi", "0"), ("1n", "1n"), ("-1024", "-1Ki")],
    ],
)
def test_a_quantity_is_formatted_with_the_largest_exact_suffix(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(("text", "whole"), [("1", 1), ("1m", 1), ("1.5Gi", 1610612736), ("0", 0)])
def test_a_whole_amount_is_rounded_up(text: str, whole: int) -> None:
    assert Quantity.parse(text).whole_units == whole


@given(st.integers(min_value=-MAX_NANOS, max_value=MAX_NANOS))
def test_a_formatted_quantity_is_parsed_back(nanos: int) -> None:
    assert Quantity.parse(str(Quantity(nanos))) == Quantity(nanos)


amounts = st.tuples(st.integers(min_value=0, max_value=5000), st.sampled_from(sorted(SCALES)))


@given(amounts, amounts)
def test_quantities_compare_by_their_amounts(
    first: tuple[int, str], second: tuple[int, str]
) -> None:
    (first_number, first_suffix), (second_number, second_suffix) = first, second
    is_less = first_number * SCALES[first_suffix] < second_number * SCALES[second_suffix]
    quantities = [Quantity.parse(f"{number}{suffix}") for number, suffix in (first, second)]
    assert (quantities[0] < quantities[1]) == is_less


@given(
    st.from_regex(UNSIGNED_PATTERN, fullmatch=True).filter(
        lambda text: len(text) <= MAX_TEXT_LENGTH
    )
)
def test_a_quantity_accepted_by_the_schema_is_parsed_or_too_large(text: str) -> None:
    try:
        assert Quantity.parse(text.removesuffix("\n")).nanos >= 0
    except ValueError as error:
        assert "exceeds the maximum of Kubernetes" in str(error)  # noqa: PT017 - either is right
