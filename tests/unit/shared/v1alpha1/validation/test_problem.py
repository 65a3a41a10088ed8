"""Tests of validation problems: each is one printable line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.v1alpha1.validation.problem import Problem, repeated_positions


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "spec.memory: is wrong"),
        ("12 GB", 'spec.memory: "12 GB" is wrong'),
        ("", 'spec.memory: "" is wrong'),
        ('a"b\\c', r'spec.memory: "a\"b\\c" is wrong'),
        ("a\nb\x7f\u2028", r'spec.memory: "a\nb\u007f\u2028" is wrong'),
        ("größe", 'spec.memory: "größe" is wrong'),
        ("x" * 100, f'spec.memory: "{"x" * 77}..." is wrong'),
    ],
)
def test_the_text_of_a_problem_has_the_field_the_value_and_the_message(
    value: str | None, text: str
) -> None:
    assert Problem("spec.memory", value, "is wrong").text == text


@given(st.text())
def test_the_text_of_a_problem_is_always_one_printable_line(value: str) -> None:
    assert Problem("a", value, "b").text.isprintable()


def test_repeated_items_are_found_by_position() -> None:
    assert repeated_positions("abacab") == [2, 4, 5]
    assert repeated_positions("abc") == []
