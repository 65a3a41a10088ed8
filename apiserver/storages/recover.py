"""Recovery of a storage whose prepare has failed."""

from typing import Any

from apiserver.errors import ConflictError
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.wellknown import RECOVER_ANNOTATION


def require_recoverable(storage: GPUStorage) -> None:
    """Raise ConflictError unless the prepare has failed and no recovery is requested yet."""
    status = storage.status.prepare or PrepareStatus()
    if storage.metadata.deletion_timestamp is not None:
        raise ConflictError("the storage is being deleted")
    if storage.spec.prepare is None:
        raise ConflictError("the storage is not prepared by anything, so nothing can have failed")
    if status.phase != PreparePhase.FAILED:
        phase = status.phase or PreparePhase.PENDING.value
        raise ConflictError(f"only a failed prepare is recovered; it is {phase}")
    seen = ("", status.recovered_by, status.prior_request)
    if storage.metadata.annotations.get(RECOVER_ANNOTATION, "") not in seen:
        raise ConflictError("a recovery is under way already")


def recovery_patch(storage: GPUStorage, recovery_id: str) -> dict[str, Any]:
    """Return the patch that requests a recovery, at the version that was read."""
    meta = storage.metadata
    return {
        "metadata": {
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "annotations": {RECOVER_ANNOTATION: recovery_id},
        }
    }
