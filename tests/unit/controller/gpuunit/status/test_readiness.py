"""Tests of unit readiness: its constructors set the phase and truncate the message."""

from controller.gpuunit.status.readiness import UnitReadiness
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason


def test_each_constructor_sets_its_phase() -> None:
    reason = UnitReason.UNIT_PROGRESSING
    assert UnitReadiness.ready(reason, "").phase is UnitPhase.READY
    assert UnitReadiness.progressing(reason, "").phase is UnitPhase.PROGRESSING
    assert UnitReadiness.failed(reason, "") == UnitReadiness(UnitPhase.FAILED, reason, "")


def test_a_long_message_of_a_unit_is_cut_and_ends_with_dots() -> None:
    readiness = UnitReadiness.failed(UnitReason.POD_STARTUP_FAILED, "a" * 2000)
    assert readiness.message == "a" * 1021 + "..."
