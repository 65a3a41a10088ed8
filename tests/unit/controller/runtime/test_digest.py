"""Tests of the digest: it is the same in every process, and changes with the value."""

from controller.runtime.digest import json_digest


def test_the_digest_of_a_value_does_not_change_between_releases() -> None:
    assert json_digest({"a": [1, "x"], "b": {"c": True}}) == "7bc1d4c77305c3b7"


def test_the_digest_ignores_the_order_of_keys_but_not_of_lists() -> None:
    assert json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    assert json_digest([1, 2]) != json_digest([2, 1])


def test_a_removed_field_changes_the_digest() -> None:
    assert json_digest({"a": 1}) != json_digest({"a": 1, "b": None})
