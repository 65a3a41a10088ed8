"""Tests of the circuit breaker on virtual time."""

import pytest

from apiserver.circuit_breaker import MAX_FAILURES, OPEN_SECONDS, CallResult, CircuitBreaker, Permit
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


@pytest.fixture
def clock() -> AutoAdvanceClock:
    return AutoAdvanceClock()


@pytest.fixture
def breaker(clock: AutoAdvanceClock) -> CircuitBreaker:
    return CircuitBreaker(clock)


def call(breaker: CircuitBreaker, result: CallResult) -> Permit | None:
    """Simulate one call that ends at once."""
    permit = breaker.acquire()
    if permit is not None:
        breaker.release(permit, result)
    return permit


def open_breaker(breaker: CircuitBreaker) -> None:
    for _ in range(MAX_FAILURES):
        assert call(breaker, CallResult.FAILED) is Permit.NORMAL


def test_the_breaker_opens_after_five_failures_in_a_row(breaker: CircuitBreaker) -> None:
    open_breaker(breaker)
    assert breaker.is_open
    assert breaker.acquire() is None


def test_a_success_resets_the_failure_count_of_the_breaker(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        for _ in range(MAX_FAILURES - 1):
            call(breaker, CallResult.FAILED)
        call(breaker, CallResult.ANSWERED)
    assert not breaker.is_open


def test_a_call_with_an_unknown_result_does_not_count(breaker: CircuitBreaker) -> None:
    for _ in range(MAX_FAILURES - 1):
        call(breaker, CallResult.FAILED)
    call(breaker, CallResult.UNKNOWN)
    assert not breaker.is_open
    call(breaker, CallResult.FAILED)
    assert breaker.is_open


def test_the_breaker_stays_open_for_five_seconds(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    open_breaker(breaker)
    assert breaker.retry_after == 5
    clock.advance(OPEN_SECONDS - 0.1)
    assert breaker.acquire() is None
    assert breaker.retry_after == 1
    clock.advance(0.1)
    assert breaker.acquire() is Permit.PROBE


def test_only_one_probe_is_in_flight_at_a_time(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS)
    assert breaker.acquire() is Permit.PROBE
    clock.advance(100.0)
    assert breaker.acquire() is None


def test_a_successful_probe_closes_the_breaker(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, CallResult.ANSWERED) is Permit.PROBE
    assert not breaker.is_open
    open_breaker(breaker)  # all five failures are needed again


def test_a_failed_probe_keeps_the_breaker_open(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, CallResult.FAILED) is Permit.PROBE
    assert breaker.acquire() is None
    clock.advance(OPEN_SECONDS)
    assert breaker.acquire() is Permit.PROBE


def test_an_abandoned_probe_allows_another_probe(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS)
    assert call(breaker, CallResult.UNKNOWN) is Permit.PROBE
    assert breaker.acquire() is Permit.PROBE


def test_late_failures_do_not_keep_the_breaker_open(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    late_permit = breaker.acquire()
    assert late_permit is Permit.NORMAL
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS - 1)
    breaker.release(late_permit, CallResult.FAILED)
    clock.advance(1.0)
    assert breaker.acquire() is Permit.PROBE


def test_a_late_failure_does_not_end_the_probe(
    breaker: CircuitBreaker, clock: AutoAdvanceClock
) -> None:
    late_permit = breaker.acquire()
    assert late_permit is Permit.NORMAL
    open_breaker(breaker)
    clock.advance(OPEN_SECONDS)
    assert breaker.acquire() is Permit.PROBE
    breaker.release(late_permit, CallResult.FAILED)
    assert breaker.acquire() is None


def test_a_late_success_closes_the_breaker(breaker: CircuitBreaker) -> None:
    late_permit = breaker.acquire()
    assert late_permit is Permit.NORMAL
    open_breaker(breaker)
    breaker.release(late_permit, CallResult.ANSWERED)
    assert breaker.acquire() is Permit.NORMAL


def test_allow_probe_now_admits_a_probe_at_once(breaker: CircuitBreaker) -> None:
    open_breaker(breaker)
    breaker.allow_probe_now()
    assert breaker.acquire() is Permit.PROBE
    assert breaker.acquire() is None
