"""Tests of request ids: a caller's id is kept if it is safe."""

import pytest

from apiserver.http.request_id import choose_request_id


def make_id() -> str:
    return "new-id"


@pytest.mark.parametrize("sent_id", ["a", "x" * 128, "A-z_0.9"])
def test_a_valid_request_id_is_kept(sent_id: str) -> None:
    assert choose_request_id(sent_id, make_id) == sent_id


@pytest.mark.parametrize("sent_id", [None, "", "x" * 129, "a b", "a\n", "a=b", "caf\u00e9", "a/b"])
def test_an_invalid_request_id_is_replaced(sent_id: str | None) -> None:
    assert choose_request_id(sent_id, make_id) == "new-id"
