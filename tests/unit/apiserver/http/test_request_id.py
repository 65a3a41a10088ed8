"""Tests of request ids: a caller's id is kept if it is safe."""

import pytest

from apiserver.http.request_id import choose_request_id


def made() -> str:
    return "made"


@pytest.mark.parametrize("given", ["a", "x" * 128, "A-z_0.9"])
def test_a_valid_request_id_is_kept(given: str) -> None:
    assert choose_request_id(given, made) == given


@pytest.mark.parametrize("given", [None, "", "x" * 129, "a b", "a\n", "a=b", "caf\u00e9", "a/b"])
def test_an_invalid_request_id_is_replaced(given: str | None) -> None:
    assert choose_request_id(given, made) == "made"
