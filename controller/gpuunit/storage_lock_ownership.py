"""Ownership of a storage lock by a unit, as pure functions."""

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.storage_lock import StorageLock


def is_lock_held_by(unit: GPUUnit, lock: StorageLock) -> bool:
    """Return whether the unit or the operation that created it holds the lock."""
    meta = unit.metadata
    if lock.uid:
        return lock.uid == meta.uid
    operation = meta.annotations.get(wellknown.OPERATION_ID_ANNOTATION)
    return lock.unit == meta.name and operation is not None and lock.operation == operation


def is_lock_without_uid(unit: GPUUnit, lock: StorageLock) -> bool:
    """Return whether the lock is the unit's but names only its operation."""
    return not lock.uid and is_lock_held_by(unit, lock)


def is_lock_confirmed(unit: GPUUnit, lock: StorageLock | None, *, is_mounted: bool) -> bool:
    """Return whether no other process can be about to release the unit's lock.

    A release is possible if the unit did not mount the storage until now. Then the lock is written
    again, and a release that was decided by the old state of the unit fails.
    """
    if lock is None or not lock.uid:
        return False
    return is_mounted or lock.generation == unit.metadata.generation


def desired_lock(unit: GPUUnit) -> StorageLock:
    """Return the lock of the unit in its current state."""
    meta = unit.metadata
    return StorageLock(
        unit=meta.name,
        uid=meta.uid,
        operation=meta.annotations.get(wellknown.OPERATION_ID_ANNOTATION, ""),
        generation=meta.generation,
    )
