"""What came of one turn of a storage."""

from dataclasses import dataclass

from controller.apply.applier import ApplyFailure, ApplyFailureKind
from controller.gpustorage.prepare_status import DONE_PHASES
from controller.gpustorage.status.readiness import StorageReadiness
from controller.runtime.errors import KubeError
from controller.status.blocker import Blocker
from shared.k8s.pvc import PersistentVolumeClaim
from shared.v1alpha1.gpustorage import AccessorStatus, PrepareStatus
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.reasons import StorageReason

StorageBlocker = Blocker[StorageReadiness]


@dataclass(frozen=True, slots=True)
class AccessorState:
    """How the browsing is, and in words."""

    status: AccessorStatus
    message: str
    blocker: StorageBlocker | None = None


@dataclass(frozen=True, slots=True)
class StorageReconcileOutcome:
    """What was found of the volume, of its filling and of its browsing."""

    pvc: PersistentVolumeClaim | None
    volume_readiness: StorageReadiness
    prepare_status: PrepareStatus
    accessor: AccessorState
    volume_blocker: StorageBlocker | None = None
    prepare_blocker: StorageBlocker | None = None

    @property
    def readiness(self) -> StorageReadiness:
        """The first that keeps the storage from being used; else how the volume is."""
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
        """What shall be tried again."""
        hitches = (self.volume_blocker, self.prepare_blocker, self.accessor.blocker)
        found = (hitch.retry_error for hitch in hitches if hitch is not None)
        return next((error for error in found if error is not None), None)


def blocker_of_failure(failure: ApplyFailure) -> StorageBlocker:
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
