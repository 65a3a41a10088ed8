"""Outcome of one step of a storage."""

from dataclasses import dataclass

from controller.apply.applier import ApplyFailure, ApplyFailureKind
from controller.gpustorage.prepare_status import DONE_PHASES
from controller.gpustorage.status.readiness import StorageReadiness
from controller.runtime import KubeError
from controller.status.blocker import Blocker
from shared.k8s.pvc import PersistentVolumeClaim
from shared.v1alpha1.gpustorage import AccessorStatus, PrepareStatus
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.reasons import StorageReason

StorageBlocker = Blocker[StorageReadiness]


@dataclass(frozen=True, slots=True)
class AccessorState:
    """Phase of the accessor, and its message."""

    status: AccessorStatus
    message: str
    blocker: StorageBlocker | None = None


@dataclass(frozen=True, slots=True)
class StorageReconcileOutcome:
    """State of the volume, its prepare and its accessor."""

    pvc: PersistentVolumeClaim | None
    volume_readiness: StorageReadiness
    prepare_status: PrepareStatus
    accessor: AccessorState
    volume_blocker: StorageBlocker | None = None
    prepare_blocker: StorageBlocker | None = None

    @property
    def readiness(self) -> StorageReadiness:
        """Return the first reason why the storage cannot be used; else the volume's readiness."""
        if not self.volume_readiness.is_ready:
            return self.volume_readiness
        if self.prepare_status.phase == PreparePhase.FAILED:
            return StorageReadiness.failed(
                StorageReason.PREPARE_FAILED, self.prepare_status.message
            )
        if self.prepare_blocker is not None:
            return self.prepare_blocker.readiness
        if self.prepare_status.phase not in DONE_PHASES:
            return StorageReadiness.pending(
                StorageReason.NOT_PREPARED, "the volume is being filled"
            )
        return self.volume_readiness

    @property
    def retry_error(self) -> KubeError | None:
        """Return the first error to retry; None if there is none."""
        blockers = (self.volume_blocker, self.prepare_blocker, self.accessor.blocker)
        errors = (blocker.retry_error for blocker in blockers if blocker is not None)
        return next(filter(None, errors), None)


def blocker_of_failure(failure: ApplyFailure) -> StorageBlocker:
    """Return the blocker of a storage for a child that could not be applied."""
    message = failure.message
    match failure.kind:
        case ApplyFailureKind.TERMINATING:
            return Blocker(StorageReadiness.pending(StorageReason.VOLUME_PENDING, message))
        case ApplyFailureKind.NOT_OWNED:
            return Blocker(StorageReadiness.failed(StorageReason.CHILD_CONFLICT, message))
        case ApplyFailureKind.INVALID:
            return Blocker(StorageReadiness.failed(StorageReason.INVALID_SPEC, message))
        case ApplyFailureKind.RETRYABLE:
            reason = StorageReason(failure.child.failure_reason)
            return Blocker(StorageReadiness.pending(reason, message), failure.error)
