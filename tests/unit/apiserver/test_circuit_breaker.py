"""The breaker on virtual time."""

import pytest

from apiserver.circuit_breaker import MOST_FAILURES, OPEN_SECONDS, Breaker, Entry, Outcome
from tests.support.clocks.auto_advance_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def breaker(clock: VirtualClock) -> Breaker:
    return Breaker(clock)


def call(breaker: Breaker, outcome: Outcome) -> Entry | None:
    """One call that ends at once."""
    entry = breaker.enter()
    if entry is not None:
        breaker.leave(entry, outcome)
    return entry


def open_up(breaker: Breaker) -> None:
    for _ in range(MOST_FAILURES):
        assert call(breaker, Outcome.FAILED) is Entry.CALL


def test_it_opens_after_five_failures_in_a_row(breaker: Breaker) -> None:
    open_up(breaker)
    assert breaker.is_open
    assert breaker.enter() is None


def test_an_answer_in_between_starts_the_count_again(breaker: Breaker) -> None:
    for _ in range(3):
        for _ in range(MOST_FAILURES - 1):
            call(breaker, Outcome.FAILED)
        call(breaker, Outcome.ANSWERED)
    assert not breaker.is_open


def test_a_call_that_was_given_up_says_nothing(breaker: Breaker) -> None:
    for _ in range(MOST_FAILURES - 1):
        call(breaker, Outcome.FAILED)
    call(breaker, Outcome.UNKNOWN)
    assert not breaker.is_open
    call(breaker, Outcome.FAILED)
    assert breaker.is_open


def test_it_is_open_for_five_seconds(breaker: Breaker, clock: VirtualClock) -> None:
    open_up(breaker)
    assert breaker.retry_after == 5
    clock.advance(OPEN_SECONDS - 0.1)
    assert breaker.enter() is None
    assert breaker.retry_after == 1
    clock.advance(0.1)
    assert breaker.enter() is Entry.TRIAL


def test_one_trial_is_in_flight_at_a_time(breaker: Breaker, clock: VirtualClock) -> None:
    open_up(breaker)
    clock.advance(OPEN_SECONDS)
    assert breaker.enter() is Entry.TRIAL
    clock.advance(100.0)
    assert breaker.enter() is None


def test_a_trial_that_is_answered_closes_it(breaker: Breaker, clock: VirtualClock) -> None:
    open_up(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, Outcome.ANSWERED) is Entry.TRIAL
    assert not breaker.is_open
    open_up(breaker)  # and all five failures are needed again


def test_a_trial_that_fails_keeps_it_open(breaker: Breaker, clock: VirtualClock) -> None:
    open_up(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, Outcome.FAILED) is Entry.TRIAL
    assert breaker.enter() is None
    clock.advance(OPEN_SECONDS)
    assert breaker.enter() is Entry.TRIAL


def test_a_trial_that_was_given_up_makes_room_for_another(
    breaker: Breaker, clock: VirtualClock
) -> None:
    open_up(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, Outcome.UNKNOWN) is Entry.TRIAL
    assert breaker.enter() is Entry.TRIAL


def test_calls_that_fail_late_do_not_keep_it_open(breaker: Breaker, clock: VirtualClock) -> None:
    late = breaker.enter()
    assert late is Entry.CALL
    open_up(breaker)
    clock.advance(OPEN_SECONDS - 1)
    breaker.leave(late, Outcome.FAILED)
    clock.advance(1.0)
    assert breaker.enter() is Entry.TRIAL


def test_a_call_that_fails_late_does_not_end_the_trial(
    breaker: Breaker, clock: VirtualClock
) -> None:
    late = breaker.enter()
    assert late is Entry.CALL
    open_up(breaker)
    clock.advance(OPEN_SECONDS)
    assert breaker.enter() is Entry.TRIAL
    breaker.leave(late, Outcome.FAILED)
    assert breaker.enter() is None


def test_a_late_answer_closes_it(breaker: Breaker) -> None:
    late = breaker.enter()
    assert late is Entry.CALL
    open_up(breaker)
    breaker.leave(late, Outcome.ANSWERED)
    assert breaker.enter() is Entry.CALL


def test_a_sign_of_life_brings_the_trial_forward(breaker: Breaker) -> None:
    open_up(breaker)
    breaker.try_now()
    assert breaker.enter() is Entry.TRIAL
    assert breaker.enter() is None
