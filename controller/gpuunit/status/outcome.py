"""Outcome of one step of a unit."""

from dataclasses import dataclass

from controller.apply.applier import ApplyFailure, ApplyFailureKind
from controller.gpuunit.observation import Observation
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress
from controller.runtime import KubeError
from controller.status.blocker import Blocker
from shared.v1alpha1.reasons import UnitReason

UnitBlocker = Blocker[UnitReadiness]


@dataclass(frozen=True, slots=True)
class UnitReconcileOutcome:
    """Outcome of one step: what the status reports, and what follows.

    `service_address` None keeps the addresses of the status. `retry_error` is retried after the
    report. After `requeue_after` seconds the unit is reconciled again, because time alone may have
    changed something.
    """

    observation: Observation
    readiness: UnitReadiness
    service_address: ServiceAddress | None = None
    retry_error: KubeError | None = None
    requeue_after: float | None = None


def outcome_of_blocker(observation: Observation, blocker: UnitBlocker) -> UnitReconcileOutcome:
    """Report why the unit is blocked."""
    return UnitReconcileOutcome(observation, blocker.readiness, retry_error=blocker.retry_error)


def blocker_of_failure(failure: ApplyFailure) -> UnitBlocker:
    """Return the blocker of a unit for a child that could not be applied."""
    message = failure.message
    match failure.kind:
        case ApplyFailureKind.TERMINATING:
            return Blocker(UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, message))
        case ApplyFailureKind.NOT_OWNED:
            return Blocker(UnitReadiness.failed(UnitReason.CHILD_CONFLICT, message))
        case ApplyFailureKind.INVALID:
            return Blocker(UnitReadiness.failed(UnitReason.INVALID_SPEC, message))
        case ApplyFailureKind.RETRYABLE:
            reason = UnitReason(failure.child.failure_reason)
            return Blocker(UnitReadiness.progressing(reason, message), failure.error)
