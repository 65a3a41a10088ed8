"""Tests of the framework protocol: the request to it, and the stored part of its response."""

import pytest

from serverless.framework.invocation import parse_invocation
from serverless.worker.framework.request import request_headers
from serverless.worker.framework.result import filter_headers, is_retryable, valid_content_type
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.state import InvocationState

RECORD = InvocationRecord(
    function_uid="uid",
    run=2,
    hash="h",
    accepted_at=1_700_000_000_000,
    request=InvocationRequest(
        content_type="text/plain",
        headers={"X-Run": "99", "X-Mine": "yes"},
        attributes={"name": "Zoë", "n": [1]},
        timeout_seconds=60,
    ),
    state=InvocationState.RUNNING,
    attempts=3,
    started_at=1_700_000_000_250,
)


def test_protocol_headers_override_headers_of_the_caller_and_are_ascii() -> None:
    headers = request_headers("fn.i-1", RECORD)
    assert headers == {
        "X-Mine": "yes",
        "Content-Type": "text/plain",
        "X-Invocation-ID": "i-1",
        "X-Function": "fn",
        "X-Run": "2",
        "X-Attempt": "3",
        "X-Deadline": "2023-11-14T22:14:20.250Z",
        "X-Attributes": '{"name": "Zo\\u00eb", "n": [1]}',
    }
    assert all(value.isascii() for value in headers.values())


def test_a_framework_parses_the_request_of_a_worker() -> None:
    invocation = parse_invocation(request_headers("fn.i-1", RECORD), "text/plain", b'{"a": 1}')
    assert (invocation.id, invocation.function) == ("i-1", "fn")
    assert (invocation.run, invocation.attempt) == (2, 3)
    assert invocation.attributes == {"name": "Zoë", "n": [1]}
    assert invocation.deadline.timestamp() == 1_700_000_060.250
    assert invocation.json() == {"a": 1}


def test_connection_headers_and_values_that_are_not_ascii_are_dropped() -> None:
    headers = [
        ("Connection", "close"),
        ("Content-Length", "3"),
        ("X-Retryable", "true"),
        ("X-Odd", "caf\udcc3\udca9"),
        ("X-Good", "yes"),
    ]
    assert filter_headers(headers) == {"X-Good": "yes"}


def test_headers_are_kept_up_to_the_size_limit() -> None:
    headers = [(f"X-{number}", "v" * 1000) for number in range(10)]
    assert list(filter_headers(headers)) == ["X-0", "X-1", "X-2", "X-3"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        ("", "application/octet-stream"),
        ("a/\udcff", "application/octet-stream"),
        ("a/" + "b" * 300, "application/octet-stream"),
    ],
)
def test_an_invalid_content_type_is_replaced(value: str, expected: str) -> None:
    assert valid_content_type(value) == expected


@pytest.mark.parametrize(("value", "expected"), [("true", True), (" TRUE ", True), ("1", False)])
def test_only_the_header_value_true_is_retryable(value: str, *, expected: bool) -> None:
    assert is_retryable(value) == expected
