"""Validity of a lock, by its holder."""

from controller.gpustorage.prepare_status import FINAL_PHASES, recorded_prepare_status
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.storage_lock import StorageLock


def is_unit_lock_orphaned(lock: StorageLock, storage_name: str, unit: GPUUnit | None) -> bool:
    """Return whether the unit has lost its lock.

    The unit is gone, or it no longer mounts the storage and its controller has observed that.
    """
    if unit is None or unit.metadata.uid != lock.uid:
        return True
    is_settled = unit.status.observed_generation == unit.metadata.generation
    return is_settled and storage_name not in {mount.name for mount in unit.spec.storage_mounts}


def is_operation_lock_orphaned(operation: Operation | None) -> bool:
    """Return whether the operation can no longer create its unit."""
    return operation is None or operation.status.phase == OperationPhase.FAILED


def is_prepare_lock_orphaned(
    lock: StorageLock, target: GPUStorage | None, *, has_job: bool
) -> bool:
    """Return whether the prepare attempt has ended, or its target storage is gone."""
    if target is None or target.metadata.uid != lock.uid:
        return True
    if target.metadata.deletion_timestamp is not None:
        return not has_job
    recorded = recorded_prepare_status(target)
    return recorded.phase in FINAL_PHASES or recorded.recovered_by != lock.operation


def created_unit_uid(operation: Operation | None) -> str:
    """Return the uid of the unit that a finished operation created; empty if there is none."""
    if operation is None or operation.status.phase != OperationPhase.SUCCEEDED:
        return ""
    return next((created.uid for created in operation.status.objects), "")


def holder_pod_selector(lock: StorageLock | None) -> str:
    """Return the label selector of the holder's pods; empty if the holder is unknown."""
    if lock is not None and lock.prepare:
        return f"{wellknown.STORAGE_LABEL}={lock.prepare}"
    if lock is not None and lock.unit:
        return f"{wellknown.UNIT_LABEL}={lock.unit}"
    return ""
