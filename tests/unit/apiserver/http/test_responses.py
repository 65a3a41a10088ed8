"""Tests of error responses: all have the same format."""

import asyncio
import json

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiserver.errors import ErrorDetail, InvalidRequestError, ServiceUnavailableError
from apiserver.http.responses import error_responses_middleware, failure, http_exception_failure
from apiserver.kube import errors as kube_errors


def body(response: web.Response) -> object:
    assert response.text is not None
    return json.loads(response.text)


def test_an_error_response_has_a_code_and_a_message() -> None:
    response = failure(ServiceUnavailableError("Kubernetes is down", retry_after=5))
    assert response.status == 503
    assert response.headers["Retry-After"] == "5"
    assert body(response) == {
        "error": {"code": "service_unavailable", "message": "Kubernetes is down"}
    }


def test_an_error_response_lists_problems_by_field() -> None:
    response = failure(
        InvalidRequestError("bad", details=(ErrorDetail("spec.name", "is missing"),))
    )
    assert body(response) == {
        "error": {
            "code": "invalid_request",
            "message": "bad",
            "details": [{"field": "spec.name", "message": "is missing"}],
        }
    }


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (web.HTTPNotFound(), 404, "not_found"),
        (web.HTTPMethodNotAllowed("PUT", ["GET"]), 405, "method_not_allowed"),
        (web.HTTPRequestEntityTooLarge(1, 2), 413, "too_large"),
        (web.HTTPUnsupportedMediaType(), 415, "unsupported_media_type"),
        (web.HTTPBadRequest(), 400, "invalid_request"),
        (web.HTTPUnprocessableEntity(), 400, "invalid_request"),
        (web.HTTPBadGateway(), 500, "internal"),
    ],
)
def test_aiohttp_errors_get_a_json_error_response(
    error: web.HTTPException, status: int, code: str
) -> None:
    response = http_exception_failure(error)
    response_body = body(response)
    assert isinstance(response_body, dict)
    assert (response.status, response_body["error"]["code"]) == (status, code)


def test_a_response_to_an_unsupported_method_has_the_allow_header() -> None:
    assert (
        http_exception_failure(web.HTTPMethodNotAllowed("PUT", ["GET", "HEAD"])).headers["Allow"]
        == "GET,HEAD"
    )


async def test_an_unexpected_error_is_logged_in_full_and_hidden_from_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(_: web.Request) -> web.StreamResponse:
        raise RuntimeError("the secret is 42")

    response = await error_responses_middleware(make_mocked_request("GET", "/"), broken)
    assert isinstance(response, web.Response)
    assert response.status == 500
    assert "42" not in (response.text or "")
    (line,) = caplog.records
    assert line.message == "request_failed"
    assert line.exc_info is not None


async def test_a_kubernetes_error_is_logged_in_full_and_hidden_from_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def down(_: web.Request) -> web.StreamResponse:
        raise kube_errors.UnreachableError("https://10.0.0.1 cannot be reached")

    response = await error_responses_middleware(make_mocked_request("GET", "/"), down)
    assert isinstance(response, web.Response)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert "10.0.0.1" not in (response.text or "")
    assert [line.message for line in caplog.records] == ["cluster_call_failed"]


async def test_a_client_error_is_not_logged_as_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def rejected(_: web.Request) -> web.StreamResponse:
        raise kube_errors.InvalidError("answered 400", "invalid continue token")

    response = await error_responses_middleware(make_mocked_request("GET", "/"), rejected)
    assert isinstance(response, web.Response)
    assert response.status == 400
    assert caplog.records == []


async def test_a_cancelled_request_stays_cancelled() -> None:
    async def cancelled(_: web.Request) -> web.StreamResponse:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await error_responses_middleware(make_mocked_request("GET", "/"), cancelled)
