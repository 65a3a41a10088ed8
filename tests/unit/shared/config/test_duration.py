"""Tests of durations: strict parsing of common notations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.config.duration import Duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("5m", 300),
        ("24h", 86400),
        ("500ms", 0.5),
        ("1h30m", 5400),
        ("1h1s1ms", 3601.001),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: float) -> None:
    assert Duration.parse(text).seconds == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "s", "0s", "0h0m", "-1s", "1.5s", "1 s", "1S", "1m1h", "1s1s", "1s\n"),
        "\u0661s",
        "99999999999999999h",
    ],
)
def test_malformed_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration above zero such as"):
        Duration.parse(text)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_duration_is_always_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        Duration(seconds)


@given(st.integers(min_value=1, max_value=10**12))
def test_a_formatted_duration_is_parsed_back(milliseconds: int) -> None:
    duration = Duration(milliseconds / 1000)
    assert Duration.parse(str(duration)) == duration
