"""Tests of the error for each error response: messages help, and contain no secrets."""

import msgspec
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube.request import KubeRequest, KubeResponse
from apiserver.kube.status_errors import error_from_response

SERVER = "https://10.0.0.1:6443"
GET = KubeRequest("GET", "/apis/x/units/one")
POST = KubeRequest("POST", "/apis/x/units", {"secret": "query"}, b"secret body")


def a_status(message: str = "no", reason: str = "", **more: object) -> bytes:
    return msgspec.json.encode({"kind": "Status", "message": message, "reason": reason, **more})


def refusal(
    status: int, body: bytes = b"", call: KubeRequest = GET, retry_after: int | None = None
) -> kube_errors.KubeError:
    return error_from_response(SERVER, call, KubeResponse(status, body, retry_after))


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
def test_a_refusal_is_known_by_its_code_and_reason(
    status: int, reason: str, kind: type[kube_errors.KubeError]
) -> None:
    error = refusal(status, a_status(reason=reason))
    assert type(error) is kind
    assert str(error).startswith(f"{SERVER} answered {GET} with {status}: ")


def test_a_404_of_a_create_means_a_missing_namespace() -> None:
    error = refusal(404, a_status('namespaces "x" not found', "NotFound"), POST)
    assert type(error) is kube_errors.UnexpectedResponseError


def test_a_creation_that_collides_over_a_quota_can_be_tried_again() -> None:
    said = 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified'
    assert type(refusal(409, a_status(said, "Conflict"), POST)) is kube_errors.ThrottledError


def test_a_full_quota_keeps_what_the_server_said_of_it() -> None:
    said = 'units "x" is forbidden: exceeded quota: q, requested: a=1, used: a=5, limited: a=5'
    error = refusal(403, a_status(said, "Forbidden"))
    assert isinstance(error, kube_errors.QuotaExceededError)
    assert error.message == "exceeded quota: q, requested: a=1, used: a=5, limited: a=5"


def test_a_rejection_names_the_fields_in_the_log_and_their_values_to_the_sender_only() -> None:
    causes = [{"field": "spec.envs[0].value", "message": "Invalid value: hunter2"}, {"reason": "x"}]
    said = "spec.envs[0].value: Invalid value: hunter2"
    error = refusal(422, a_status(said, "Invalid", details={"causes": causes}), POST)
    assert isinstance(error, kube_errors.InvalidError)
    assert error.message == said
    assert str(error) == f"{SERVER} answered {POST} with 422: Invalid spec.envs[0].value."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 429, 500])
def test_query_and_body_of_a_call_are_in_no_message(status: int) -> None:
    assert "secret" not in str(refusal(status, a_status(), POST))


def test_a_busy_server_says_when() -> None:
    error = refusal(429, a_status(), retry_after=7)
    assert isinstance(error, kube_errors.ThrottledError)
    assert error.retry_after == 7


def test_a_forbidden_call_repeats_what_the_server_said() -> None:
    error = refusal(403, a_status('nodes is forbidden: User "api" cannot list'))
    assert 'with 403: nodes is forbidden: User "api" cannot list. Check' in str(error)


def test_an_unknown_caller_is_told_to_check_the_credentials() -> None:
    error = refusal(401, a_status("Unauthorized"))
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
def test_a_body_that_is_no_status_is_shown_as_text(body: bytes, shown: str) -> None:
    error = refusal(502, body)
    assert isinstance(error, kube_errors.ServerError)
    assert f"with 502: {shown}" in str(error)


@pytest.mark.parametrize("status", [500, 422])
def test_a_huge_body_is_cut(status: int) -> None:
    assert len(str(refusal(status, b"x" * 100_000))) < 500
    assert len(str(refusal(status, b"[" * 100_000))) < 500
