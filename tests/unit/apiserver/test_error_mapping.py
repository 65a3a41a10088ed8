"""What a caller hears of a failure of Kubernetes."""

import pytest

from apiserver.error_mapping import service_error
from apiserver.errors import ServiceError
from apiserver.kube.port import (
    AbsentError,
    ClusterAnswerError,
    ClusterBusyError,
    ClusterError,
    ClusterNotAskedError,
    ClusterRefusedError,
    ClusterTimeoutError,
    ClusterTooOldError,
    ClusterUnfitError,
    ClusterUnreachableError,
    ContinueExpiredError,
    QuotaExceededError,
    RejectedError,
    StaleError,
    TakenError,
)

INTERNALS = "https://10.0.0.1:6443 answered GET /apis"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ClusterUnreachableError(INTERNALS), 503, "service_unavailable"),
        (ClusterNotAskedError(INTERNALS, 3), 503, "service_unavailable"),
        (ClusterBusyError(INTERNALS), 503, "service_unavailable"),
        (ClusterAnswerError(INTERNALS), 503, "service_unavailable"),
        (ClusterTimeoutError(INTERNALS), 504, "timeout"),
        (ClusterRefusedError(INTERNALS), 500, "internal"),
        (ClusterUnfitError(INTERNALS), 500, "internal"),
        (ClusterTooOldError(INTERNALS), 500, "internal"),
        (ClusterError(INTERNALS), 500, "internal"),
        (QuotaExceededError(INTERNALS, "exceeded quota: q"), 409, "conflict"),
        (RejectedError(INTERNALS, "spec.gpu: Invalid value"), 400, "invalid_request"),
        (TakenError(INTERNALS), 409, "already_exists"),
        (StaleError(INTERNALS), 409, "conflict"),
        (ContinueExpiredError(INTERNALS), 410, "continue_expired"),
        (AbsentError(INTERNALS), 404, "not_found"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_has_a_code_and_tells_no_internals(
    error: ClusterError, status: int, code: str
) -> None:
    told = service_error(error)
    assert (told.status, told.code) == (status, code)
    assert "10.0.0.1" not in told.message


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (ClusterUnreachableError(""), 1),
        (ClusterAnswerError(""), 1),
        (ClusterBusyError("", None), 1),
        (ClusterBusyError("", 0), 1),
        (ClusterBusyError("", 4), 4),
        (ClusterBusyError("", 3600), 5),
        (ClusterNotAskedError("", 3), 3),
        (ClusterNotAskedError(""), 1),
        (ClusterTimeoutError(""), None),
        (ClusterRefusedError(""), None),
    ],
    ids=repr,
)
def test_who_should_try_again_is_told_when(error: ClusterError, pause: int | None) -> None:
    assert service_error(error).retry_after == pause


@pytest.mark.parametrize(
    "error", [RejectedError("", "the server's words"), QuotaExceededError("", "the server's words")]
)
def test_what_the_request_broke_is_told_in_the_servers_words(error: ClusterError) -> None:
    assert service_error(error).message == "the server's words"


@pytest.mark.parametrize("error", [ClusterRefusedError(""), ClusterUnfitError("")])
def test_what_only_an_operator_can_mend_says_so(error: ClusterError) -> None:
    told: ServiceError = service_error(error)
    assert told.message.endswith("an operator must look at this")
