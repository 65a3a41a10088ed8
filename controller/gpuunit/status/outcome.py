"""What came of one turn of a unit."""

from dataclasses import dataclass

from controller.apply.applier import Hindrance, Setback
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.status.status import Published
from controller.runtime.errors import ApiError
from shared.v1alpha1.reasons import UnitReason


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to report; with `retry`, also what went wrong and shall be tried again.

    Without `published` the addresses stay as they were. After `look_after` seconds time alone may
    have changed something.
    """

    verdict: Verdict
    published: Published | None = None
    retry: ApiError | None = None
    look_after: float | None = None


def outcome_of(setback: Setback) -> Outcome:
    """What a unit says of a child that could not be brought about."""
    said = setback.message
    match setback.hindrance:
        case Hindrance.GOING:
            return Outcome(Verdict.progressing(UnitReason.UNIT_PROGRESSING, said))
        case Hindrance.FOREIGN:
            return Outcome(Verdict.failed(UnitReason.CHILD_CONFLICT, said))
        case Hindrance.INVALID:
            return Outcome(Verdict.failed(UnitReason.INVALID_SPEC, said))
        case Hindrance.REFUSED:
            reason = UnitReason(setback.child.failure)
            return Outcome(Verdict.progressing(reason, said), retry=setback.error)
