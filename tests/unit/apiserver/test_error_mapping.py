"""What a caller hears of a failure of Kubernetes."""

import pytest

from apiserver.error_mapping import service_error
from apiserver.errors import ServiceError
from apiserver.kube import errors as kube_errors

INTERNALS = "https://10.0.0.1:6443 answered GET /apis"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (kube_errors.ClusterUnreachableError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.ClusterNotAskedError(INTERNALS, 3), 503, "service_unavailable"),
        (kube_errors.ClusterBusyError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.ClusterAnswerError(INTERNALS), 503, "service_unavailable"),
        (kube_errors.ClusterTimeoutError(INTERNALS), 504, "timeout"),
        (kube_errors.ClusterRefusedError(INTERNALS), 500, "internal"),
        (kube_errors.ClusterUnfitError(INTERNALS), 500, "internal"),
        (kube_errors.ClusterTooOldError(INTERNALS), 500, "internal"),
        (kube_errors.ClusterError(INTERNALS), 500, "internal"),
        (kube_errors.QuotaExceededError(INTERNALS, "exceeded quota: q"), 409, "conflict"),
        (kube_errors.RejectedError(INTERNALS, "spec.gpu: Invalid value"), 400, "invalid_request"),
        (kube_errors.TakenError(INTERNALS), 409, "already_exists"),
        (kube_errors.StaleError(INTERNALS), 409, "conflict"),
        (kube_errors.ContinueExpiredError(INTERNALS), 410, "continue_expired"),
        (kube_errors.AbsentError(INTERNALS), 404, "not_found"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_has_a_code_and_tells_no_internals(
    error: kube_errors.ClusterError, status: int, code: str
) -> None:
    told = service_error(error)
    assert (told.status, told.code) == (status, code)
    assert "10.0.0.1" not in told.message


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (kube_errors.ClusterUnreachableError(""), 1),
        (kube_errors.ClusterAnswerError(""), 1),
        (kube_errors.ClusterBusyError("", None), 1),
        (kube_errors.ClusterBusyError("", 0), 1),
        (kube_errors.ClusterBusyError("", 4), 4),
        (kube_errors.ClusterBusyError("", 3600), 5),
        (kube_errors.ClusterNotAskedError("", 3), 3),
        (kube_errors.ClusterNotAskedError(""), 1),
        (kube_errors.ClusterTimeoutError(""), None),
        (kube_errors.ClusterRefusedError(""), None),
    ],
    ids=repr,
)
def test_who_should_try_again_is_told_when(
    error: kube_errors.ClusterError, pause: int | None
) -> None:
    assert service_error(error).retry_after == pause


@pytest.mark.parametrize(
    "error",
    [
        kube_errors.RejectedError("", "the server's words"),
        kube_errors.QuotaExceededError("", "the server's words"),
    ],
)
def test_what_the_request_broke_is_told_in_the_servers_words(
    error: kube_errors.ClusterError,
) -> None:
    assert service_error(error).message == "the server's words"


@pytest.mark.parametrize(
    "error", [kube_errors.ClusterRefusedError(""), kube_errors.ClusterUnfitError("")]
)
def test_what_only_an_operator_can_mend_says_so(error: kube_errors.ClusterError) -> None:
    told: ServiceError = service_error(error)
    assert told.message.endswith("an operator must look at this")
