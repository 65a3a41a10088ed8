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
        raise ConflictError("the storage has no prepare, so it cannot be recovered")
    if status.phase != PreparePhase.FAILED:
        phase = status.phase or PreparePhase.PENDING.value
        raise ConflictError(f"only a failed prepare can be recovered; this prepare is {phase}")
    handled = ("", status.recovered_by, status.prior_request)
    if storage.metadata.annotations.get(RECOVER_ANNOTATION, "") not in handled:
        raise ConflictError("a recovery is already requested; wait until it starts")


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
