"""Tests of the election rules, which are pure functions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controller.runtime.leader import rules
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.rules import ElectionSettings, ElectionSettingsError, Observation

NOW = datetime(2026, 11, 16, tzinfo=UTC)
THEIRS = LeaseRecord("b", 15, "1999-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z", 4)


def test_the_default_settings_are_those_of_the_kubernetes_components() -> None:
    settings = ElectionSettings("test")
    assert (
        settings.lease_duration_seconds,
        settings.renew_deadline_seconds,
        settings.retry_period_seconds,
    ) == (15, 10, 2)
    assert settings.request_timeout_seconds == 5
    assert (settings.stop_deadline_seconds, settings.margin_seconds) == (14, 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((10, 10.0, 2.0), "longer than the renew deadline"),
        ((15, 2.4, 2.0), "1.2 times the retry period"),
        ((15, 10.0, 0.0), "above zero"),
        ((0, -1.0, -2.0), "above zero"),
    ],
)
def test_unsafe_election_settings_are_refused(
    values: tuple[int, float, float], message: str
) -> None:
    with pytest.raises(ElectionSettingsError, match=message):
        ElectionSettings("test", *values)


def test_a_request_timeout_is_at_least_one_second() -> None:
    assert ElectionSettings("test", 2, 1.5, 0.5).request_timeout_seconds == 1


def test_candidates_wait_between_one_and_two_point_two_retry_periods() -> None:
    settings = ElectionSettings("test")
    assert settings.jittered_wait_seconds(0.0) == 2
    assert settings.jittered_wait_seconds(1.0) == pytest.approx(4.4)


@pytest.mark.parametrize(
    ("record", "age", "is_acquirable"),
    [
        (LeaseRecord(), 0.0, True),
        (replace(THEIRS, holder="a"), 0.0, True),
        (THEIRS, 0.0, False),
        (THEIRS, 14.9, False),
        (THEIRS, 15.0, True),
        (replace(THEIRS, duration_seconds=60), 59.0, False),
        (replace(THEIRS, duration_seconds=0), 0.0, True),
    ],
    ids=["free", "ours", "valid", "almost expired", "expired", "longer duration", "duration 0"],
)
def test_a_lease_is_acquirable_if_it_is_free_ours_or_expired(
    record: LeaseRecord, age: float, is_acquirable: bool
) -> None:
    observed = Observation(record, 100.0)
    assert rules.is_acquirable(observed, "a", 100.0 + age) is is_acquirable


def test_only_a_changed_record_restarts_the_observation_time() -> None:
    before = Observation(THEIRS, 100.0)
    assert rules.observe(before, THEIRS, 105.0) is before
    changed = replace(THEIRS, renew_time="2099-01-01T00:00:00.000001Z")
    assert rules.observe(before, changed, 105.0) == Observation(changed, 105.0)


def test_an_acquisition_counts_a_transition_and_a_renewal_does_not() -> None:
    new_record = rules.new_lease_record("a", 15, NOW)
    acquired = rules.successor_record(new_record, THEIRS)
    assert (acquired.holder, acquired.transitions) == ("a", 5)
    assert acquired.acquire_time == new_record.acquire_time
    later = rules.new_lease_record("a", 15, NOW.replace(minute=1))
    renewed = rules.successor_record(later, acquired)
    assert renewed == replace(acquired, renew_time=later.renew_time)


def test_a_released_lease_has_no_holder_and_a_duration_of_one_second() -> None:
    released = rules.released_record(THEIRS, NOW)
    assert (released.holder, released.duration_seconds, released.transitions) == ("", 1, 4)


def test_a_term_is_continued_only_by_its_renewals() -> None:
    new_record = rules.new_lease_record("a", 15, NOW)
    term = rules.term_of(Observation(new_record, 1.0))
    assert term.is_continued_by(replace(new_record, renew_time="later"))
    assert not term.is_continued_by(replace(new_record, transitions=1))
    assert not term.is_continued_by(replace(new_record, acquire_time="later"))
