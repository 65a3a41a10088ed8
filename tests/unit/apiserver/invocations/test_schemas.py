"""Tests of the fast parser and the schema: both parse the same, and only the schema rejects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError

from apiserver.invocations.schemas import InvokeSchema, invoke_request, parse_plain_invocation
from apiserver.schemas.request import RequestSchema

ANY_VALUE = st.one_of(st.none(), st.booleans(), st.integers(-2, 400), st.floats(0, 2), st.text())
BODIES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "serverlessRequestID": st.one_of(st.sampled_from(["echo", "e\n", "E", ""]), ANY_VALUE),
        "invocationID": st.one_of(st.sampled_from(["a-1", "a\n", "a.b", "x" * 65]), ANY_VALUE),
        "mode": st.one_of(st.sampled_from(["sync", "async"]), ANY_VALUE),
        "payload": ANY_VALUE,
        "waitSeconds": ANY_VALUE,
        "headers": st.just({}),
        "other": ANY_VALUE,
    },
)


@given(BODIES)
def test_the_fast_parser_gives_the_same_request_as_the_schema(body: dict[str, Any]) -> None:
    plain = parse_plain_invocation(body)
    try:
        parsed = RequestSchema.parse(InvokeSchema(), dict(body))
    except ValidationError:
        assert plain is None
    else:
        assert plain is None or invoke_request(plain) == parsed


@pytest.mark.parametrize("wait", [{}, {"waitSeconds": 5}])
def test_the_usual_request_is_read_by_the_fast_parser(wait: dict[str, int]) -> None:
    body = {"serverlessRequestID": "echo", "mode": "sync", "payload": {"a": 1}, **wait}
    assert parse_plain_invocation(body) is not None
