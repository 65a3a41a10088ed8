"""Tests of rate limiting: the delays between retries."""

import pytest

from controller.runtime.queue.ratelimit import (
    ExponentialBackoff,
    MaxOfRateLimiter,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from tests.support.clocks.virtual_clock import VirtualClock


def delays(limiter: RateLimiter[str], key: str, count: int) -> list[float]:
    return [limiter.when(key) for _ in range(count)]


def test_each_failure_doubles_the_delay_of_its_key_alone() -> None:
    backoff = ExponentialBackoff[str](base_delay=0.001)
    assert delays(backoff, "one", 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert delays(backoff, "two", 2) == [0.001, 0.002]
    assert (backoff.failures("one"), backoff.failures("two")) == (5, 2)


def test_a_forgotten_key_starts_from_the_first_delay() -> None:
    backoff = ExponentialBackoff[str](base_delay=0.001)
    delays(backoff, "one", 5)
    backoff.forget("one")
    assert backoff.failures("one") == 0
    assert backoff.when("one") == 0.001


def test_forgetting_a_key_that_never_failed_does_nothing() -> None:
    backoff = ExponentialBackoff[str](base_delay=0.001)
    backoff.forget("one")
    assert backoff.failures("one") == 0
    assert backoff.when("one") == 0.001


def test_the_defaults_grow_for_18_delays_and_then_stay_at_1000_seconds() -> None:
    seconds = delays(ExponentialBackoff[str](), "one", 20)
    assert seconds[0] == 0.005
    assert seconds[17] == pytest.approx(655.36)
    assert seconds[18:] == [1000.0, 1000.0]


def test_a_thousand_failures_do_not_overflow() -> None:
    assert delays(ExponentialBackoff[str](base_delay=1.0, max_delay=60.0), "one", 2000)[-1] == 60.0


def test_a_token_bucket_allows_a_burst_and_then_delays_all_keys() -> None:
    bucket = TokenBucket[str](VirtualClock(), rate=10.0, burst=2)
    assert [bucket.when(key) for key in "abcd"] == pytest.approx([0.0, 0.0, 0.1, 0.2])


def test_a_token_bucket_refills_over_time_up_to_its_burst() -> None:
    clock = VirtualClock()
    bucket = TokenBucket[str](clock, rate=10.0, burst=2)
    delays(bucket, "one", 3)
    clock.advance_timers(0.1)
    assert bucket.when("one") == pytest.approx(0.1)
    clock.advance_timers(3600.0)
    assert delays(bucket, "one", 3) == pytest.approx([0.0, 0.0, 0.1])


def test_a_token_bucket_neither_counts_nor_forgets_keys() -> None:
    bucket = TokenBucket[str](VirtualClock(), rate=1.0, burst=1)
    delays(bucket, "one", 2)
    bucket.forget("one")
    assert bucket.failures("one") == 0
    assert bucket.when("one") == pytest.approx(2.0)


def test_the_longest_delay_of_several_limiters_applies_and_all_count_the_failure() -> None:
    quick, slow = (
        ExponentialBackoff[str](base_delay=1.0),
        ExponentialBackoff[str](base_delay=3.0, max_delay=5),
    )
    both = MaxOfRateLimiter(quick, slow)
    assert delays(both, "one", 4) == [3.0, 5.0, 5.0, 8.0]
    quick.when("one")
    assert both.failures("one") == 5
    both.forget("one")
    assert (quick.failures("one"), slow.failures("one")) == (0, 0)


def test_the_default_limiter_bounds_both_a_key_and_all_keys() -> None:
    limiter = default_rate_limiter(VirtualClock())
    assert delays(limiter, "one", 3) == [0.005, 0.01, 0.02]
    for other in range(97):
        assert limiter.when(other) == 0.005
    assert limiter.when("after the burst") == pytest.approx(0.1)
