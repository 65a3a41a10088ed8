"""Tests of derived names: they are short enough, distinct and stable."""

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.v1alpha1 import names

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
INNER = string.ascii_lowercase + string.digits + "-"
objects = st.builds(
    lambda text: f"a{text}z", st.text(alphabet=INNER, min_size=40, max_size=61)
) | st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
ids = st.text(min_size=1, max_size=128)


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        (names.unit_child_name("a"), "unit-a"),
        (names.egress_policy_name("a"), "egress-a"),
        (names.prepare_job_name("a"), "prepare-a"),
        (names.accessor_name("a"), "accessor-a"),
        (names.storage_volume_name("a"), "storage-a"),
        (names.worker_name("echo", 7), "echo-7"),
        (names.pool_unit_name("warm", 7), "warm-7"),
        (names.unit_child_name("a" * 58), "unit-" + "a" * 58),
    ],
)
def test_a_short_derived_name_is_not_hashed(derived: str, expected: str) -> None:
    assert derived == expected


@given(objects)
def test_a_derived_name_is_a_label(name: str) -> None:
    assert LABEL.fullmatch(names.unit_child_name(name))
    assert LABEL.fullmatch(names.accessor_name(name))
    assert LABEL.fullmatch(names.storage_volume_name(name))


@given(st.lists(objects, min_size=2, max_size=2, unique=True))
@example(["a" * 59, "a" * 60])
def test_two_names_never_share_a_derived_name(pair: list[str]) -> None:
    first, second = pair
    assert names.unit_child_name(first) != names.unit_child_name(second)


@given(objects)
@example("a" * 63)
def test_a_name_that_looks_shortened_does_not_collide_with_the_shortened_name(name: str) -> None:
    lookalike = names.unit_child_name(name).removeprefix("unit-")
    has_same_child = names.unit_child_name(lookalike) == names.unit_child_name(name)
    assert has_same_child == (lookalike == name)


@given(st.lists(ids, min_size=2, max_size=2, unique=True))
def test_two_operations_never_share_an_object_name(pair: list[str]) -> None:
    first, second = pair
    assert names.operation_name(first) != names.operation_name(second)


@given(ids, st.integers(min_value=0, max_value=999))
def test_names_derived_from_an_operation_are_labels(operation_id: str, ordinal: int) -> None:
    assert LABEL.fullmatch(names.operation_name(operation_id))
    assert LABEL.fullmatch(names.stock_unit_name(operation_id, ordinal))


def test_derived_names_do_not_change_between_releases() -> None:
    assert names.operation_name("order-1") == "box6eikw2juyyfb3qycairwtm3vnqy52"
    assert (
        names.unit_child_name("a" * 63)
        == "unit-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-3tpqaxotz5rrlqr6"
    )
