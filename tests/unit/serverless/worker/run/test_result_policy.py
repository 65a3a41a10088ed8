"""What a framework has said, and what that makes of a run."""

import pytest

from serverless.worker.framework.result import (
    Answer,
    BodyLost,
    Garbage,
    Gone,
    Heard,
    Late,
    TooLarge,
    Unwanted,
)
from serverless.worker.run.result_policy import Again, Outcome, verdict
from shared.invocation.record import Record, Request
from shared.invocation.state import State

RUNNING = Record(
    function_uid="uid",
    hash="h",
    accepted_at=0,
    request=Request(ttl_seconds=10, max_attempts=3),
    state=State.RUNNING,
    attempts=1,
)
LAST = Record(
    function_uid="uid",
    hash="h",
    accepted_at=0,
    request=Request(max_attempts=3),
    state=State.RUNNING,
    attempts=3,
)
SOON = 1_000
TOO_LATE = 10_000


@pytest.mark.parametrize(
    ("heard", "state", "failure_class"),
    [
        (Answer(200), State.SUCCEEDED, ""),
        (Answer(399), State.SUCCEEDED, ""),
        (Answer(400), State.FAILED, "framework_error"),
        (Answer(503), State.FAILED, "framework_error"),
        (Garbage("what"), State.FAILED, "framework_protocol"),
        (TooLarge(), State.FAILED, "result_too_large"),
        (Late(), State.FAILED, "timeout"),
        (Unwanted(), State.CANCELLED, "cancelled"),
        (BodyLost(), State.FAILED, "body_lost"),
    ],
)
def test_outcomes_of_any_attempt(heard: Heard, state: State, failure_class: str) -> None:
    for record in (RUNNING, LAST):
        outcome = verdict(record, heard, SOON)
        assert isinstance(outcome, Outcome)
        assert (outcome.state, outcome.result.failure_class) == (state, failure_class)
        assert bool(outcome.result.error) == (state is not State.SUCCEEDED)


@pytest.mark.parametrize("heard", [Gone("it left"), Answer(500, retryable=True)])
def test_another_attempt_follows_until_there_is_none_left(heard: Heard) -> None:
    assert isinstance(verdict(RUNNING, heard, SOON), Again)
    outcome = verdict(LAST, heard, SOON)
    assert isinstance(outcome, Outcome)
    assert outcome.state is State.DEAD_LETTERED
    assert outcome.result.failure_class == "attempts_exhausted"
    assert outcome.result.error.startswith("3 attempts have come to nothing; the last: ")


def test_a_success_that_says_retryable_is_a_success() -> None:
    outcome = verdict(RUNNING, Answer(200, retryable=True), SOON)
    assert isinstance(outcome, Outcome)
    assert outcome.state is State.SUCCEEDED


def test_a_run_that_is_late_for_its_ttl_has_expired() -> None:
    outcome = verdict(RUNNING, Late(), TOO_LATE)
    assert isinstance(outcome, Outcome)
    assert outcome.state is State.EXPIRED


def test_an_answer_is_kept_as_it_came() -> None:
    answer = Answer(500, "text/plain", {"X-A": "b"}, b"body")
    outcome = verdict(RUNNING, answer, SOON)
    assert isinstance(outcome, Outcome)
    assert (outcome.result.status_code, outcome.result.content_type) == (500, "text/plain")
    assert (outcome.result.headers, outcome.body) == ({"X-A": "b"}, b"body")
