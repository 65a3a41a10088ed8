"""Tests of the digest: it is the same in every process, and changes with the value."""

from controller.runtime.digest import json_digest


def test_the_digest_is_the_same_for_ever() -> None:
    assert json_digest({"a": [1, "x"], "b": {"c": True}}) == "7bc1d4c77305c3b7"


def test_the_order_of_keys_does_not_matter_and_that_of_lists_does() -> None:
    assert json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    assert json_digest([1, 2]) != json_digest([2, 1])


def test_a_removed_field_changes_the_digest() -> None:
    assert json_digest({"a": 1}) != json_digest({"a": 1, "b": None})
