"""Tests of the fast parser and the schema: both parse the same, and only the schema rejects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError

from apiserver.invocations.schemas import InvokeSchema, invoke_request, parse_plain_invocation
from apiserver.schemas.request import RequestSchema

ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(-2, 400), st.floats(0, 2), st.text())
BODIES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "serverlessRequestID": st.one_of(st.sampled_from(["echo", "e\n", "E", ""]), ANYTHING),
        "invocationID": st.one_of(st.sampled_from(["a-1", "a\n", "a.b", "x" * 65]), ANYTHING),
        "mode": st.one_of(st.sampled_from(["sync", "async"]), ANYTHING),
        "payload": ANYTHING,
        "waitSeconds": ANYTHING,
        "headers": st.just({}),
        "other": ANYTHING,
    },
)


@given(BODIES)
def test_the_fast_parser_gives_the_same_request_as_the_schema(body: dict[str, Any]) -> None:
    plain = parse_plain_invocation(body)
    try:
        slow = RequestSchema.parse(InvokeSchema(), dict(body))
    except ValidationError:
        assert plain is None
    else:
        assert plain is None or invoke_request(plain) == slow


@pytest.mark.parametrize("wait", [{}, {"waitSeconds": 5}])
def test_the_usual_request_is_read_quickly(wait: dict[str, int]) -> None:
    body = {"serverlessRequestID": "echo", "mode": "sync", "payload": {"a": 1}, **wait}
    assert parse_plain_invocation(body) is not None
