"""A message fits into a status, whatever its characters."""

from hypothesis import given
from hypothesis import strategies as st

from controller.gpuunit.status.readiness import LONGEST_MESSAGE, Verdict, cut
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason

ANYTHING = st.text(st.characters(), max_size=2 * LONGEST_MESSAGE)


@given(ANYTHING)
def test_a_message_is_never_longer_than_a_kibibyte(message: str) -> None:
    assert len(cut(message).encode()) <= LONGEST_MESSAGE


@given(ANYTHING)
def test_cutting_once_is_enough(message: str) -> None:
    assert cut(cut(message)) == cut(message)


@given(st.text(max_size=LONGEST_MESSAGE // 4))
def test_what_fits_stays(message: str) -> None:
    assert cut(message) == message


def test_a_cut_is_seen_and_leaves_no_half_character() -> None:
    assert cut("é" * 600) == "é" * 510 + "..."


def test_a_character_that_cannot_be_sent_is_replaced() -> None:
    assert cut("a\ud800b") == "a?b"


def test_a_verdict_has_the_phase_of_its_name() -> None:
    reason = UnitReason.UNIT_PROGRESSING
    assert Verdict.ready(reason, "").phase is UnitPhase.READY
    assert Verdict.progressing(reason, "").phase is UnitPhase.PROGRESSING
    assert Verdict.failed(reason, "") == Verdict(UnitPhase.FAILED, reason, "")
