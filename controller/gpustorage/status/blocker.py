"""What holds a storage up."""

from dataclasses import dataclass

from controller.apply.applier import ApplyFailure, ApplyFailureKind
from controller.gpustorage.status.readiness import StorageReadiness
from controller.runtime.errors import KubeError
from shared.v1alpha1.reasons import StorageReason


@dataclass(frozen=True, slots=True)
class Blocker:
    """What to say of it; with `retry`, also what shall be tried again."""

    readiness: StorageReadiness
    retry_error: KubeError | None = None


def blocker_of_failure(failure: ApplyFailure) -> Blocker:
    """What a storage says of a child that could not be brought about."""
    said = failure.message
    match failure.kind:
        case ApplyFailureKind.TERMINATING:
            return Blocker(StorageReadiness.pending(StorageReason.VOLUME_PENDING, said))
        case ApplyFailureKind.NOT_OWNED:
            return Blocker(StorageReadiness.failed(StorageReason.CHILD_CONFLICT, said))
        case ApplyFailureKind.INVALID:
            return Blocker(StorageReadiness.failed(StorageReason.INVALID_SPEC, said))
        case ApplyFailureKind.RETRYABLE:
            reason = StorageReason(failure.child.failure_reason)
            return Blocker(StorageReadiness.pending(reason, said), failure.error)
