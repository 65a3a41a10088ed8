"""Tests of error mapping: the service error for each Kubernetes error."""

import pytest

from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors

INTERNALS = "https://10.0.0.1:6443 answered GET /apis"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (kube_errors.UnreachableError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.NotSentError(INTERNALS, 3), 503, "service_unavailable"),
        (kube_errors.ThrottledError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.ServerError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.RequestTimeoutError(INTERNALS), 504, "timeout"),
        (kube_errors.ForbiddenError(INTERNALS), 500, "internal"),
        (kube_errors.UnexpectedResponseError(INTERNALS), 500, "internal"),
        (kube_errors.UnsupportedVersionError(INTERNALS), 500, "internal"),
        (kube_errors.KubeError(INTERNALS), 500, "internal"),
        (kube_errors.QuotaExceededError(INTERNALS, "exceeded quota: q"), 409, "conflict"),
        (kube_errors.InvalidError(INTERNALS, "spec.gpu: Invalid value"), 400, "invalid_request"),
        (kube_errors.AlreadyExistsError(INTERNALS), 409, "already_exists"),
        (kube_errors.ConflictError(INTERNALS), 409, "conflict"),
        (kube_errors.ExpiredError(INTERNALS), 410, "continue_expired"),
        (kube_errors.NotFoundError(INTERNALS), 404, "not_found"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_service_error_has_a_code_and_no_internals(
    error: kube_errors.KubeError, status: int, code: str
) -> None:
    service_error = service_error_from_kube(error)
    assert (service_error.status, service_error.code) == (status, code)
    assert "10.0.0.1" not in service_error.message


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (kube_errors.UnreachableError(""), 1),
        (kube_errors.ServerError(""), 1),
        (kube_errors.ThrottledError("", None), 1),
        (kube_errors.ThrottledError("", 0), 1),
        (kube_errors.ThrottledError("", 4), 4),
        (kube_errors.ThrottledError("", 3600), 5),
        (kube_errors.NotSentError("", 3), 3),
        (kube_errors.NotSentError(""), 1),
        (kube_errors.RequestTimeoutError(""), None),
        (kube_errors.ForbiddenError(""), None),
    ],
    ids=repr,
)
def test_a_retryable_error_has_its_retry_after(
    error: kube_errors.KubeError, pause: int | None
) -> None:
    assert service_error_from_kube(error).retry_after == pause


@pytest.mark.parametrize(
    "error",
    [
        kube_errors.InvalidError("", "the server's message"),
        kube_errors.QuotaExceededError("", "the server's message"),
    ],
)
def test_an_invalid_request_keeps_the_servers_message(
    error: kube_errors.KubeError,
) -> None:
    assert service_error_from_kube(error).message == "the server's message"


@pytest.mark.parametrize(
    "error", [kube_errors.ForbiddenError(""), kube_errors.UnexpectedResponseError("")]
)
def test_an_error_for_operators_says_that_an_operator_must_act(
    error: kube_errors.KubeError,
) -> None:
    service_error: ServiceError = service_error_from_kube(error)
    assert service_error.message.endswith("an operator must fix this")
