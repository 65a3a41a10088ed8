"""Tests of the result policy: the effect of a framework's response on a run."""

import pytest

from serverless.worker.framework.result import (
    CallCancelled,
    DeadlineExceeded,
    FrameworkResponse,
    FrameworkResult,
    InvalidResponse,
    NoResponse,
    PayloadLost,
    ResponseTooLarge,
)
from serverless.worker.run.result_policy import Retry, RunOutcome, decide_result
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.state import InvocationState

RUNNING = InvocationRecord(
    function_uid="uid",
    hash="h",
    accepted_at=0,
    request=InvocationRequest(ttl_seconds=10, max_attempts=3),
    state=InvocationState.RUNNING,
    attempts=1,
)
LAST = InvocationRecord(
    function_uid="uid",
    hash="h",
    accepted_at=0,
    request=InvocationRequest(max_attempts=3),
    state=InvocationState.RUNNING,
    attempts=3,
)
SOON = 1_000
TOO_LATE = 10_000


@pytest.mark.parametrize(
    ("result", "state", "failure_class"),
    [
        (FrameworkResponse(200), InvocationState.SUCCEEDED, ""),
        (FrameworkResponse(399), InvocationState.SUCCEEDED, ""),
        (FrameworkResponse(400), InvocationState.FAILED, "framework_error"),
        (FrameworkResponse(503), InvocationState.FAILED, "framework_error"),
        (InvalidResponse("what"), InvocationState.FAILED, "framework_protocol"),
        (ResponseTooLarge(), InvocationState.FAILED, "result_too_large"),
        (DeadlineExceeded(), InvocationState.FAILED, "timeout"),
        (CallCancelled(), InvocationState.CANCELLED, "cancelled"),
        (PayloadLost(), InvocationState.FAILED, "body_lost"),
    ],
)
def test_every_framework_result_gives_a_valid_outcome(
    result: FrameworkResult, state: InvocationState, failure_class: str
) -> None:
    for record in (RUNNING, LAST):
        outcome = decide_result(record, result, SOON)
        assert isinstance(outcome, RunOutcome)
        assert (outcome.state, outcome.result.failure_class) == (state, failure_class)
        assert bool(outcome.result.error) == (state is not InvocationState.SUCCEEDED)


@pytest.mark.parametrize(
    "result", [NoResponse("no response"), FrameworkResponse(500, is_retryable=True)]
)
def test_a_failed_attempt_is_retried_until_no_attempt_is_left(
    result: FrameworkResult,
) -> None:
    assert isinstance(decide_result(RUNNING, result, SOON), Retry)
    outcome = decide_result(LAST, result, SOON)
    assert isinstance(outcome, RunOutcome)
    assert outcome.state is InvocationState.DEAD_LETTERED
    assert outcome.result.failure_class == "attempts_exhausted"
    assert outcome.result.error.startswith("all attempts failed (3); the last: ")


def test_a_successful_response_with_the_retryable_header_succeeds() -> None:
    outcome = decide_result(RUNNING, FrameworkResponse(200, is_retryable=True), SOON)
    assert isinstance(outcome, RunOutcome)
    assert outcome.state is InvocationState.SUCCEEDED


def test_a_run_that_exceeds_its_time_to_live_is_expired() -> None:
    outcome = decide_result(RUNNING, DeadlineExceeded(), TOO_LATE)
    assert isinstance(outcome, RunOutcome)
    assert outcome.state is InvocationState.EXPIRED


def test_a_failed_response_is_stored_unchanged() -> None:
    response = FrameworkResponse(500, "text/plain", {"X-A": "b"}, b"body")
    outcome = decide_result(RUNNING, response, SOON)
    assert isinstance(outcome, RunOutcome)
    assert (outcome.result.status_code, outcome.result.content_type) == (500, "text/plain")
    assert (outcome.result.headers, outcome.body) == ({"X-A": "b"}, b"body")
