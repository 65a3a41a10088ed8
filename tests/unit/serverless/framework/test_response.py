"""Tests of responses: the conversion of a handler's return values."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from serverless.framework import Invocation, Response, Retryable
from serverless.framework.response import error_response, to_response
from serverless.framework.server import Handler, call_handler

DEADLINE = datetime(2026, 1, 1, tzinfo=UTC)
INVOCATION = Invocation("i", "fn", 1, 1, DEADLINE, {}, {}, "text/plain", b"hi")


@pytest.mark.parametrize(
    ("value", "body", "content_type"),
    [
        (b"raw", b"raw", "application/octet-stream"),
        (bytearray(b"raw"), b"raw", "application/octet-stream"),
        ("text", b"text", "text/plain; charset=utf-8"),
        ({"a": [1]}, b'{"a": [1]}', "application/json"),
        (None, b"null", "application/json"),
        (Response(b"x", content_type="a/b"), b"x", "a/b"),
    ],
)
def test_returned_values_become_responses(value: object, body: bytes, content_type: str) -> None:
    response = to_response(value)
    assert (response.body, response.content_type, response.status) == (body, content_type, 200)


def test_an_unsupported_return_value_is_an_error() -> None:
    with pytest.raises(TypeError):
        to_response(object())


@pytest.mark.parametrize(
    ("error", "headers"), [(ValueError("no"), {}), (Retryable("later"), {"X-Retryable": "true"})]
)
def test_only_a_retryable_error_requests_another_attempt(
    error: Exception, headers: dict[str, str]
) -> None:
    assert (error_response(error).status, error_response(error).headers) == (500, headers)


async def asynchronous(invocation: Invocation) -> bytes:
    await asyncio.sleep(0)
    return invocation.body


def plain(invocation: Invocation) -> bytes:
    return invocation.body


class Callable:
    async def __call__(self, invocation: Invocation) -> bytes:
        return invocation.body


@pytest.mark.parametrize("handler", [asynchronous, plain, Callable()])
async def test_handlers_may_be_asynchronous_or_plain(handler: Handler) -> None:
    with ThreadPoolExecutor(1) as threads:
        assert await call_handler(handler, INVOCATION, threads) == b"hi"
