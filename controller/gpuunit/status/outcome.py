"""What came of one turn of a unit."""

from dataclasses import dataclass

from controller.apply.applier import ApplyFailure, ApplyFailureKind
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress
from controller.runtime.errors import KubeError
from shared.v1alpha1.reasons import UnitReason


@dataclass(frozen=True, slots=True)
class UnitReconcileOutcome:
    """What to report; with `retry`, also what went wrong and shall be tried again.

    Without `published` the addresses stay as they were. After `look_after` seconds time alone may
    have changed something.
    """

    readiness: UnitReadiness
    service_address: ServiceAddress | None = None
    retry_error: KubeError | None = None
    requeue_after: float | None = None


def outcome_of_failure(failure: ApplyFailure) -> UnitReconcileOutcome:
    """What a unit says of a child that could not be brought about."""
    said = failure.message
    match failure.kind:
        case ApplyFailureKind.TERMINATING:
            return UnitReconcileOutcome(
                UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, said)
            )
        case ApplyFailureKind.NOT_OWNED:
            return UnitReconcileOutcome(UnitReadiness.failed(UnitReason.CHILD_CONFLICT, said))
        case ApplyFailureKind.INVALID:
            return UnitReconcileOutcome(UnitReadiness.failed(UnitReason.INVALID_SPEC, said))
        case ApplyFailureKind.RETRYABLE:
            reason = UnitReason(failure.child.failure_reason)
            return UnitReconcileOutcome(
                UnitReadiness.progressing(reason, said), retry_error=failure.error
            )
