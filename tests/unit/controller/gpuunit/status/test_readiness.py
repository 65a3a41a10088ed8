"""A message fits into a status, whatever its characters."""

from hypothesis import given
from hypothesis import strategies as st

from controller.gpuunit.status.readiness import MAX_MESSAGE_BYTES, UnitReadiness, truncate_message
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason

ANYTHING = st.text(st.characters(), max_size=2 * MAX_MESSAGE_BYTES)


@given(ANYTHING)
def test_a_message_is_never_longer_than_a_kibibyte(message: str) -> None:
    assert len(truncate_message(message).encode()) <= MAX_MESSAGE_BYTES


@given(ANYTHING)
def test_cutting_a_message_twice_changes_nothing(message: str) -> None:
    assert truncate_message(truncate_message(message)) == truncate_message(message)


@given(st.text(max_size=MAX_MESSAGE_BYTES // 4))
def test_a_message_that_fits_is_not_cut(message: str) -> None:
    assert truncate_message(message) == message


def test_a_cut_message_ends_with_dots_and_has_no_partial_character() -> None:
    assert truncate_message("é" * 600) == "é" * 510 + "..."


def test_a_character_that_cannot_be_sent_is_replaced() -> None:
    assert truncate_message("a\ud800b") == "a?b"


def test_a_ready_condition_has_the_phase_of_its_constructor() -> None:
    reason = UnitReason.UNIT_PROGRESSING
    assert UnitReadiness.ready(reason, "").phase is UnitPhase.READY
    assert UnitReadiness.progressing(reason, "").phase is UnitPhase.PROGRESSING
    assert UnitReadiness.failed(reason, "") == UnitReadiness(UnitPhase.FAILED, reason, "")
