"""Tests of the REST rules: when to retry, what to send, and the error for each response."""

import errno
from collections.abc import Iterator

import aiohttp
import msgspec
import pytest
from aiohttp.client_reqrep import ConnectionKey
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.client.kubeconfig import RestConfig
from controller.runtime.client.rest import (
    KubeRequest,
    LineSplitter,
    request_headers,
    retry_after_seconds,
    unreachable_error,
)
from controller.runtime.errors import (
    MAX_MESSAGE_LENGTH,
    AlreadyExistsError,
    ConflictError,
    ConnectRefusedError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    StatusError,
    ThrottledError,
    UnreachableError,
    error_from_response,
)


def new_status(**parts: object) -> bytes:
    return msgspec.json.encode({"kind": "Status", "message": "no", **parts})


def rest_config(authorization: str | None) -> RestConfig:
    return RestConfig("https://k8s", authorization, "", None, None)


# Errors.


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        (400, InvalidError),
        (401, ForbiddenError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (405, StatusError),
        (409, ConflictError),
        (410, ExpiredError),
        (422, InvalidError),
        (429, ThrottledError),
        (500, ServerError),
        (503, ServerError),
        (504, ServerError),
    ],
)
def test_the_type_of_an_error_follows_from_its_status_code(
    code: int, error_type: type[StatusError]
) -> None:
    error = error_from_response("GET /x", code, new_status(reason="Word"))
    assert (type(error), error.status, error.reason) == (error_type, code, "Word")
    assert str(error) == f"GET /x: {code} no"


@pytest.mark.parametrize(
    ("code", "reason", "error_type"),
    [
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", ConflictError),
        (410, "Gone", ExpiredError),
        (410, "Expired", ExpiredError),
        (0, "Expired", ExpiredError),
    ],
)
def test_the_reason_of_a_status_decides_before_the_status_code(
    code: int, reason: str, error_type: type[StatusError]
) -> None:
    assert type(error_from_response("GET /x", code, new_status(reason=reason))) is error_type


@pytest.mark.parametrize(
    "body",
    [
        new_status(reason="Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]}),
        new_status(reason="Timeout", message="Too large resource version: 9, current: 5"),
        new_status(message="Timeout: Too large resource version: 9, current: 5", details=None),
    ],
    ids=["cause", "message", "old message"],
)
def test_all_forms_of_a_too_large_resource_version_are_recognised(
    body: bytes,
) -> None:
    assert type(error_from_response("GET /x", 504, body)) is ResourceVersionTooLargeError


def test_an_error_has_the_causes_of_the_status() -> None:
    causes = [{"reason": "FieldValueInvalid", "field": "spec.size"}, {"reason": "Other"}]
    error = error_from_response("POST /x", 422, new_status(details={"name": "a", "causes": causes}))
    assert error.causes == "FieldValueInvalid,Other"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"404 page\n not   found\n", "404 page not found"),
        (b"", "no message"),
        (b"{}", "no message"),
        (b"[1]", "[1]"),
        (b"caf\xe9", "caf\N{REPLACEMENT CHARACTER}"),
        (b'{"message":"caf\xe9"}', '{"message":"caf\N{REPLACEMENT CHARACTER}"}'),
    ],
    ids=["text", "empty", "another object", "no object", "not UTF-8", "not UTF-8 in JSON"],
)
def test_a_response_that_is_not_a_status_is_quoted_in_the_error(body: bytes, message: str) -> None:
    assert str(error_from_response("GET /x", 404, body)) == f"GET /x: 404 {message}"


def test_a_long_error_message_is_truncated() -> None:
    error = error_from_response("GET /x", 500, b"y" * 10 * MAX_MESSAGE_LENGTH)
    assert len(str(error)) == len("GET /x: 500 ") + MAX_MESSAGE_LENGTH


# Retries.


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"),
    [
        (429, "1", 1.0),
        (503, "30", 30.0),
        (500, "0", 0.0),
        (429, None, None),
        (500, None, None),
        (503, "", None),
        (404, "1", None),
        (200, "1", None),
        (431, "1", None),
        (429, "Wed, 21 Oct 2026 07:28:00 GMT", None),
        (429, "-1", None),
        (429, "1.5", None),
    ],
)
def test_a_request_is_retried_only_with_a_valid_retry_after_header(
    status: int, retry_after: str | None, seconds: float | None
) -> None:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    assert retry_after_seconds(status, headers) == seconds


# Headers.


def test_a_request_accepts_json_and_has_the_authorization() -> None:
    headers = request_headers(rest_config("Bearer secret"), KubeRequest("GET", "/x"))
    assert headers == {"Accept": "application/json", "Authorization": "Bearer secret"}


def test_a_request_without_a_token_has_no_authorization_header() -> None:
    assert "Authorization" not in request_headers(rest_config(None), KubeRequest("GET", "/x"))


def test_a_request_with_a_body_has_its_content_type() -> None:
    call = KubeRequest("PATCH", "/x", body=b"{}", content_type="application/merge-patch+json")
    assert (
        request_headers(rest_config(None), call)["Content-Type"] == "application/merge-patch+json"
    )


def test_a_request_with_an_empty_body_has_a_content_type() -> None:
    assert "Content-Type" in request_headers(rest_config(None), KubeRequest("POST", "/x", body=b""))


# No response.


def refused_error() -> aiohttp.ClientConnectorError:
    key = ConnectionKey("k8s", 443, True, True, None, None, None)
    return aiohttp.ClientConnectorError(key, ConnectionRefusedError(errno.ECONNREFUSED, "refused"))


def test_a_refused_connection_and_a_broken_connection_are_different_errors() -> None:
    """Check both errors: a refused connection sent nothing, but a broken one may have written."""
    assert type(unreachable_error("GET /x", refused_error())) is ConnectRefusedError
    for error in (aiohttp.ServerDisconnectedError(), ConnectionResetError(), TimeoutError()):
        assert type(unreachable_error("GET /x", error)) is UnreachableError


def test_a_refused_connection_has_the_message_of_the_system() -> None:
    message = str(unreachable_error("GET /x", refused_error()))
    assert message.startswith("GET /x: ")
    assert "object at 0x" not in message


def test_an_error_without_a_message_shows_its_type() -> None:
    assert str(unreachable_error("GET /x", TimeoutError())) == "GET /x: TimeoutError"


LINES = st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line), max_size=10)


def chunks(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    """Yield the bytes in chunks, cut at the given positions."""
    ends = sorted(cut % (len(data) + 1) for cut in cuts)
    for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
        yield data[start:end]


@given(LINES, st.binary().filter(lambda tail: b"\n" not in tail), st.lists(st.integers(0, 10_000)))
def test_any_split_into_chunks_gives_the_same_lines(
    lines: list[bytes], incomplete: bytes, cuts: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines) + incomplete
    splitter = LineSplitter()
    result = [line for chunk in chunks(data, cuts) for line in splitter.feed(chunk)]
    assert result == lines


def test_a_line_is_returned_with_the_chunk_that_ends_it() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.feed(b"o") == []
    assert splitter.feed(b"\n\nthree\n") == [b"two", b"three"]


def test_a_line_of_many_chunks_is_joined_only_once() -> None:
    """Check the cost: joined chunk by chunk, these ten megabytes are half a terabyte of copies."""
    splitter = LineSplitter()
    chunk = b"x" * 100
    for _ in range(100_000):
        assert splitter.feed(chunk) == []
    assert [len(line) for line in splitter.feed(b"\n")] == [10_000_000]
