"""Tests of readiness: its message fits into a condition, with any characters."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.k8s.readiness import MAX_MESSAGE_BYTES, Readiness, new_condition, truncate_message
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.reasons import ConditionType, PoolReason

ANY_TEXT = st.text(st.characters(), max_size=2 * MAX_MESSAGE_BYTES)


@pytest.mark.parametrize("ellipsis", ["", "..."])
@given(message=ANY_TEXT)
def test_a_truncated_message_has_at_most_one_kibibyte(ellipsis: str, message: str) -> None:
    assert len(truncate_message(message, ellipsis).encode()) <= MAX_MESSAGE_BYTES


@pytest.mark.parametrize("ellipsis", ["", "..."])
@given(message=ANY_TEXT)
def test_truncating_a_message_again_changes_nothing(ellipsis: str, message: str) -> None:
    truncated = truncate_message(message, ellipsis)
    assert truncate_message(truncate_message(truncated), ellipsis) == truncated


@given(st.text(max_size=MAX_MESSAGE_BYTES // 4))
def test_a_short_message_is_not_truncated(message: str) -> None:
    assert truncate_message(message) == message


def test_a_truncated_message_ends_with_the_ellipsis_after_a_whole_character() -> None:
    assert truncate_message("é" * 600, "...") == "é" * 510 + "..."


def test_a_message_without_an_ellipsis_is_truncated_after_a_whole_character() -> None:
    assert truncate_message("a" + "é" * 600) == "a" + "é" * 511


def test_a_character_that_cannot_be_encoded_is_replaced() -> None:
    assert truncate_message("a\ud800b") == "a?b"


NOW = datetime(2026, 11, 16, tzinfo=UTC)


class PoolReadiness(Readiness[PoolPhase, PoolReason]):
    READY_PHASES = (PoolPhase.READY, PoolPhase.SCALED_TO_ZERO)
    ELLIPSIS = "..."


def test_a_readiness_is_ready_in_the_ready_phases_of_its_class() -> None:
    reason = PoolReason.PROGRESSING
    assert PoolReadiness(PoolPhase.SCALED_TO_ZERO, reason, "").is_ready
    assert not PoolReadiness(PoolPhase.DEGRADED, reason, "").is_ready
    assert not Readiness(PoolPhase.SCALED_TO_ZERO, reason, "").is_ready


def test_a_new_readiness_truncates_its_message_with_the_ellipsis_of_its_class() -> None:
    readiness = PoolReadiness.new(PoolPhase.READY, PoolReason.READY, "a" * 2000)
    assert readiness.message == "a" * 1021 + "..."


def test_a_new_condition_has_plain_strings_and_a_truncated_message() -> None:
    condition = new_condition(
        ConditionType.READY,
        is_true=True,
        reason=PoolReason.READY,
        message="a" * 2000,
        observed_generation=3,
        now=NOW,
    )
    assert (condition.type, condition.status, condition.reason) == ("Ready", "True", "PoolReady")
    assert [type(value) for value in (condition.type, condition.reason)] == [str, str]
    assert condition.message == "a" * MAX_MESSAGE_BYTES
    assert condition.observed_generation == 3
    assert condition.last_transition_time == "2026-11-16T00:00:00Z"
