"""Whether a lock still stands: whoever has it, or had it, is looked at."""

from controller.gpustorage.prepare.state import OVER, known_prepare
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.storage_lock import StorageLock


def is_void_for_unit(lock: StorageLock, storage: str, unit: GPUUnit | None) -> bool:
    """Gone; or it no longer mounts the storage, and whoever runs it has seen that."""
    if unit is None or unit.metadata.uid != lock.uid:
        return True
    is_settled = unit.status.observed_generation == unit.metadata.generation
    return is_settled and storage not in {mount.name for mount in unit.spec.storage_mounts}


def is_void_for_operation(record: Operation | None) -> bool:
    """Nobody will make the unit any more."""
    return record is None or record.status.phase == OperationPhase.FAILED


def is_void_for_filling(lock: StorageLock, target: GPUStorage | None, *, has_job: bool) -> bool:
    """The attempt at filling is over, or so is the storage that was to be filled."""
    if target is None or target.metadata.uid != lock.uid:
        return True
    if target.metadata.deletion_timestamp is not None:
        return not has_job
    known = known_prepare(target)
    return known.phase in OVER or known.recovered_by != lock.operation


def made_unit(record: Operation | None) -> str:
    """The uid of the unit that a finished operation made; empty where there is none."""
    if record is None or record.status.phase != OperationPhase.SUCCEEDED:
        return ""
    return next((made.uid for made in record.status.objects), "")


def pod_labels_of(lock: StorageLock | None) -> str:
    """By what the pods of the holder are found; by nothing where it is not known who that was."""
    if lock is not None and lock.prepare:
        return f"{wellknown.STORAGE_LABEL}={lock.prepare}"
    if lock is not None and lock.unit:
        return f"{wellknown.UNIT_LABEL}={lock.unit}"
    return ""
