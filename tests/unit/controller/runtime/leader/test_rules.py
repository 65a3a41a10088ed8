"""Tests of the election rules, which are pure functions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controller.runtime.leader import rules
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.rules import ElectionSettings, ElectionSettingsError, Observation

NOW = datetime(2026, 11, 16, tzinfo=UTC)
THEIRS = LeaseRecord("b", 15, "1999-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z", 4)


def test_the_defaults_are_those_of_the_core_components() -> None:
    settings = ElectionSettings("test")
    assert (
        settings.lease_duration_seconds,
        settings.renew_deadline_seconds,
        settings.retry_period_seconds,
    ) == (15, 10, 2)
    assert settings.request_timeout_seconds == 5
    assert (settings.stop_deadline_seconds, settings.margin_seconds) == (14, 1)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ((10, 10.0, 2.0), "longer than the renew deadline"),
        ((15, 2.4, 2.0), "1.2 times the retry period"),
        ((15, 10.0, 0.0), "above zero"),
        ((0, -1.0, -2.0), "above zero"),
    ],
)
def test_settings_that_cannot_be_safe_are_refused(
    wrong: tuple[int, float, float], complaint: str
) -> None:
    with pytest.raises(ElectionSettingsError, match=complaint):
        ElectionSettings("test", *wrong)


def test_a_short_deadline_still_gives_a_call_a_second() -> None:
    assert ElectionSettings("test", 2, 1.5, 0.5).request_timeout_seconds == 1


def test_candidates_wait_between_one_and_two_point_two_retry_periods() -> None:
    settings = ElectionSettings("test")
    assert settings.jittered_wait_seconds(0.0) == 2
    assert settings.jittered_wait_seconds(1.0) == pytest.approx(4.4)


@pytest.mark.parametrize(
    ("record", "age", "free"),
    [
        (LeaseRecord(), 0.0, True),
        (replace(THEIRS, holder="a"), 0.0, True),
        (THEIRS, 0.0, False),
        (THEIRS, 14.9, False),
        (THEIRS, 15.0, True),
        (replace(THEIRS, duration_seconds=60), 59.0, False),
        (replace(THEIRS, duration_seconds=0), 0.0, True),
    ],
    ids=["free", "ours", "fresh", "almost over", "over", "its own duration", "no duration"],
)
def test_a_lease_may_be_acquired_when_it_is_free_own_or_expired(
    record: LeaseRecord, age: float, free: bool
) -> None:
    assert rules.is_acquirable(Observation(record, 100.0), "a", 100.0 + age) is free


def test_only_a_change_restarts_the_time_of_the_holder() -> None:
    before = Observation(THEIRS, 100.0)
    assert rules.observe(before, THEIRS, 105.0) is before
    changed = replace(THEIRS, renew_time="2099-01-01T00:00:00.000001Z")
    assert rules.observe(before, changed, 105.0) == Observation(changed, 105.0)


def test_taking_over_counts_a_transition_and_renewing_does_not() -> None:
    wanted = rules.new_lease_record("a", 15, NOW)
    taken = rules.successor_record(wanted, THEIRS)
    assert (taken.holder, taken.transitions, taken.acquire_time) == ("a", 5, wanted.acquire_time)
    later = rules.new_lease_record("a", 15, NOW.replace(minute=1))
    renewed = rules.successor_record(later, taken)
    assert renewed == replace(taken, renew_time=later.renew_time)


def test_a_released_lease_has_no_holder_and_is_over_in_a_second() -> None:
    free = rules.released_record(THEIRS, NOW)
    assert (free.holder, free.duration_seconds, free.transitions) == ("", 1, 4)


def test_a_term_goes_on_only_in_its_own_renewals() -> None:
    wanted = rules.new_lease_record("a", 15, NOW)
    term = rules.term_of(Observation(wanted, 1.0))
    assert term.is_continued_by(replace(wanted, renew_time="later"))
    assert not term.is_continued_by(replace(wanted, transitions=1))
    assert not term.is_continued_by(replace(wanted, acquire_time="later"))
