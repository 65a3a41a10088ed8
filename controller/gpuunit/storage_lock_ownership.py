"""Whether the lock of a storage is a unit's: decided by values alone."""

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.storage_lock import StorageLock


def is_lock_held_by(unit: GPUUnit, lock: StorageLock) -> bool:
    """Whether the lock is the unit's, or was taken for it by the operation that made it."""
    meta = unit.metadata
    if lock.uid:
        return lock.uid == meta.uid
    operation = meta.annotations.get(wellknown.OPERATION_ID_ANNOTATION)
    return lock.unit == meta.name and operation is not None and lock.operation == operation


def is_lock_without_uid(unit: GPUUnit, lock: StorageLock) -> bool:
    """Whether the lock is the unit's, but only its operation's name is on it."""
    return not lock.uid and is_lock_held_by(unit, lock)


def is_lock_confirmed(unit: GPUUnit, lock: StorageLock | None, *, is_mounted: bool) -> bool:
    """Whether the lock cannot be on its way to be taken from the unit.

    It might be, if the unit did not mount the storage until now: then it is written anew, and
    whoever wanted to take it away on account of what the unit was before cannot any more.
    """
    if lock is None or not lock.uid:
        return False
    return is_mounted or lock.generation == unit.metadata.generation


def desired_lock(unit: GPUUnit) -> StorageLock:
    """The lock of a unit as it is now."""
    meta = unit.metadata
    return StorageLock(
        unit=meta.name,
        uid=meta.uid,
        operation=meta.annotations.get(wellknown.OPERATION_ID_ANNOTATION, ""),
        generation=meta.generation,
    )
