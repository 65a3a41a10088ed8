"""Tests of back-off: delays grow to a limit, have jitter, and are reset only by elapsed time."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.cache.backoff import Backoff, BackoffParameters
from tests.support.clocks.virtual_clock import VirtualClock

STEPS = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]


class NoRandomness(Random):
    """Random source that always returns the minimum."""

    def random(self) -> float:
        return 0.0


def test_backoff_steps_double_up_to_half_a_minute() -> None:
    backoff = Backoff(VirtualClock(), NoRandomness())
    assert [backoff.step() for _ in STEPS] == STEPS


@given(st.integers())
def test_a_backoff_step_has_jitter_of_one_to_two_times_its_base(seed: int) -> None:
    backoff = Backoff(VirtualClock(), Random(seed))
    assert all(step <= backoff.step() < 2 * step for step in STEPS)


def test_two_clients_wait_for_different_times() -> None:
    first, second = (Backoff(VirtualClock(), Random(seed)) for seed in (1, 2))
    assert [first.step() for _ in STEPS] != [second.step() for _ in STEPS]


@pytest.mark.parametrize(("seconds", "next_step"), [(120.0, 1.6), (120.1, 0.8)])
def test_the_backoff_resets_two_minutes_after_its_first_step(
    seconds: float, next_step: float
) -> None:
    clock = VirtualClock()
    backoff = Backoff(clock, NoRandomness())
    backoff.step()
    clock.advance_timers(seconds)
    assert backoff.step() == next_step


def test_backoff_steps_do_not_postpone_the_reset() -> None:
    clock = VirtualClock()
    backoff = Backoff(clock, NoRandomness())
    for _ in range(5):
        backoff.step()
        clock.advance_timers(25.0)
    assert backoff.step() == 0.8


def test_the_next_reset_is_two_minutes_after_the_last_reset() -> None:
    clock = VirtualClock()
    backoff = Backoff(clock, NoRandomness())
    clock.advance_timers(200.0)
    backoff.step()
    clock.advance_timers(100.0)
    assert backoff.step() == 1.6


def test_the_backoff_parameters_are_configurable() -> None:
    parameters = BackoffParameters(
        initial_seconds=0.01, factor=3.0, max_seconds=0.05, reset_after_seconds=1.0
    )
    backoff = Backoff(VirtualClock(), NoRandomness(), parameters)
    assert [backoff.step() for _ in range(4)] == [0.01, 0.03, 0.05, 0.05]
