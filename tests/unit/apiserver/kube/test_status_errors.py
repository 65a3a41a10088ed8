"""Tests of the error for each error response: messages say what to check, without secrets."""

import msgspec
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube.request import KubeRequest, KubeResponse
from apiserver.kube.request_errors import error_from_response

SERVER = "https://10.0.0.1:6443"
GET = KubeRequest("GET", "/apis/x/units/one")
POST = KubeRequest("POST", "/apis/x/units", {"secret": "query"}, b"secret body")


def status_body(message: str = "no", reason: str = "", **more: object) -> bytes:
    return msgspec.json.encode({"kind": "Status", "message": message, "reason": reason, **more})


def error_for(
    status: int, body: bytes = b"", request: KubeRequest = GET, retry_after: int | None = None
) -> kube_errors.KubeError:
    return error_from_response(SERVER, request, KubeResponse(status, body, retry_after))


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", kube_errors.InvalidError),
        (401, "Unauthorized", kube_errors.ForbiddenError),
        (403, "Forbidden", kube_errors.ForbiddenError),
        (404, "NotFound", kube_errors.NotFoundError),
        (404, "", kube_errors.UnexpectedResponseError),
        (405, "MethodNotAllowed", kube_errors.UnexpectedResponseError),
        (409, "AlreadyExists", kube_errors.AlreadyExistsError),
        (409, "Conflict", kube_errors.ConflictError),
        (410, "Expired", kube_errors.ExpiredError),
        (413, "RequestEntityTooLarge", kube_errors.InvalidError),
        (422, "Invalid", kube_errors.InvalidError),
        (429, "TooManyRequests", kube_errors.ThrottledError),
        (500, "InternalError", kube_errors.ServerError),
        (503, "ServiceUnavailable", kube_errors.ServerError),
        (504, "Timeout", kube_errors.ServerError),
        (302, "", kube_errors.UnexpectedResponseError),
    ],
)
def test_the_error_class_follows_from_the_code_and_the_reason(
    status: int, reason: str, kind: type[kube_errors.KubeError]
) -> None:
    error = error_for(status, status_body(reason=reason))
    assert type(error) is kind
    assert str(error).startswith(f"{SERVER} answered {GET} with {status}: ")


def test_a_404_of_a_create_means_a_missing_namespace() -> None:
    error = error_for(404, status_body('namespaces "x" not found', "NotFound"), POST)
    assert type(error) is kube_errors.UnexpectedResponseError


def test_a_create_that_conflicts_over_a_quota_can_be_retried() -> None:
    message = 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified'
    assert (
        type(error_for(409, status_body(message, "Conflict"), POST)) is kube_errors.ThrottledError
    )


def test_an_exceeded_quota_keeps_the_message_of_the_server() -> None:
    message = 'units "x" is forbidden: exceeded quota: q, requested: a=1, used: a=5, limited: a=5'
    error = error_for(403, status_body(message, "Forbidden"))
    assert isinstance(error, kube_errors.QuotaExceededError)
    assert error.message == "exceeded quota: q, requested: a=1, used: a=5, limited: a=5"


def test_an_invalid_request_shows_the_values_of_fields_only_to_its_caller() -> None:
    causes = [{"field": "spec.envs[0].value", "message": "Invalid value: hunter2"}, {"reason": "x"}]
    message = "spec.envs[0].value: Invalid value: hunter2"
    error = error_for(422, status_body(message, "Invalid", details={"causes": causes}), POST)
    assert isinstance(error, kube_errors.InvalidError)
    assert error.message == message
    assert str(error) == f"{SERVER} answered {POST} with 422: Invalid spec.envs[0].value."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 429, 500])
def test_no_message_contains_the_query_or_the_body(status: int) -> None:
    assert "secret" not in str(error_for(status, status_body(), POST))


def test_a_throttled_request_has_the_retry_after_of_the_server() -> None:
    error = error_for(429, status_body(), retry_after=7)
    assert isinstance(error, kube_errors.ThrottledError)
    assert error.retry_after == 7


def test_a_forbidden_request_quotes_the_message_of_the_server() -> None:
    error = error_for(403, status_body('nodes is forbidden: User "api" cannot list'))
    assert 'with 403: nodes is forbidden: User "api" cannot list. Check' in str(error)


def test_an_unauthorized_request_advises_to_check_the_credentials() -> None:
    error = error_for(401, status_body("Unauthorized"))
    assert str(error).endswith("Check the token or certificate in kubeconfig.")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<html>\n<h1>502 Bad Gateway</h1>\n</html>", "<html> <h1>502 Bad Gateway</h1> </html>."),
        (b"", "no message."),
        (b"[]", "[]."),
        (b"\xff\xfe", "\ufffd\ufffd."),
        (b'"\xff"', '"\ufffd".'),
    ],
)
def test_a_body_that_is_not_a_status_is_quoted_as_text(body: bytes, shown: str) -> None:
    error = error_for(502, body)
    assert isinstance(error, kube_errors.ServerError)
    assert f"with 502: {shown}" in str(error)


@pytest.mark.parametrize("status", [500, 422])
def test_a_large_body_is_truncated(status: int) -> None:
    assert len(str(error_for(status, b"x" * 100_000))) < 500
    assert len(str(error_for(status, b"[" * 100_000))) < 500
