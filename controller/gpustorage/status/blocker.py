"""What holds a storage up."""

from dataclasses import dataclass

from controller.apply.applier import Hindrance, Setback
from controller.gpustorage.status.readiness import Verdict
from controller.runtime.errors import ApiError
from shared.v1alpha1.reasons import StorageReason


@dataclass(frozen=True, slots=True)
class Hitch:
    """What to say of it; with `retry`, also what shall be tried again."""

    verdict: Verdict
    retry: ApiError | None = None


def hitch_of(setback: Setback) -> Hitch:
    """What a storage says of a child that could not be brought about."""
    said = setback.message
    match setback.hindrance:
        case Hindrance.GOING:
            return Hitch(Verdict.pending(StorageReason.VOLUME_PENDING, said))
        case Hindrance.FOREIGN:
            return Hitch(Verdict.failed(StorageReason.CHILD_CONFLICT, said))
        case Hindrance.INVALID:
            return Hitch(Verdict.failed(StorageReason.INVALID_SPEC, said))
        case Hindrance.REFUSED:
            reason = StorageReason(setback.child.failure)
            return Hitch(Verdict.pending(reason, said), setback.error)
