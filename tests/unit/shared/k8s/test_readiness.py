"""Tests of readiness: its message fits into a condition, with any characters."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.k8s.readiness import MAX_MESSAGE_BYTES, Readiness, new_condition, truncate_message
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.reasons import ConditionType, PoolReason

ANYTHING = st.text(st.characters(), max_size=2 * MAX_MESSAGE_BYTES)


@pytest.mark.parametrize("ellipsis", ["", "..."])
@given(message=ANYTHING)
def test_a_message_is_never_longer_than_a_kibibyte(ellipsis: str, message: str) -> None:
    assert len(truncate_message(message, ellipsis).encode()) <= MAX_MESSAGE_BYTES


@pytest.mark.parametrize("ellipsis", ["", "..."])
@given(message=ANYTHING)
def test_cutting_a_message_twice_changes_nothing(ellipsis: str, message: str) -> None:
    cut = truncate_message(message, ellipsis)
    assert truncate_message(truncate_message(cut), ellipsis) == cut


@given(st.text(max_size=MAX_MESSAGE_BYTES // 4))
def test_a_message_that_fits_is_not_cut(message: str) -> None:
    assert truncate_message(message) == message


def test_a_cut_message_ends_with_dots_and_has_no_partial_character() -> None:
    assert truncate_message("é" * 600, "...") == "é" * 510 + "..."


def test_without_an_ellipsis_a_message_is_cut_at_the_last_whole_character() -> None:
    assert truncate_message("a" + "é" * 600) == "a" + "é" * 511


def test_a_character_that_cannot_be_sent_is_replaced() -> None:
    assert truncate_message("a\ud800b") == "a?b"


NOW = datetime(2026, 11, 16, tzinfo=UTC)


class PoolReadiness(Readiness[PoolPhase, PoolReason]):
    READY_PHASES = (PoolPhase.READY, PoolPhase.SCALED_TO_ZERO)
    ELLIPSIS = "..."


def test_a_readiness_is_ready_in_the_ready_phases_of_its_kind() -> None:
    reason = PoolReason.PROGRESSING
    assert PoolReadiness(PoolPhase.SCALED_TO_ZERO, reason, "").is_ready
    assert not PoolReadiness(PoolPhase.DEGRADED, reason, "").is_ready
    assert not Readiness(PoolPhase.SCALED_TO_ZERO, reason, "").is_ready


def test_a_new_readiness_cuts_its_message_with_the_ellipsis_of_its_kind() -> None:
    found = PoolReadiness.new(PoolPhase.READY, PoolReason.READY, "a" * 2000)
    assert found.message == "a" * 1021 + "..."


def test_a_condition_holds_plain_values_and_a_message_that_fits() -> None:
    found = new_condition(
        ConditionType.READY,
        is_true=True,
        reason=PoolReason.READY,
        message="a" * 2000,
        observed_generation=3,
        now=NOW,
    )
    assert (found.type, found.status, found.reason) == ("Ready", "True", "PoolReady")
    assert [type(value) for value in (found.type, found.reason)] == [str, str]
    assert found.message == "a" * MAX_MESSAGE_BYTES
    assert (found.observed_generation, found.last_transition_time) == (3, "2026-11-16T00:00:00Z")
