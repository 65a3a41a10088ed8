"""The storages that a unit mounts: each must be ready, and the unit's alone."""

from collections.abc import Collection

from controller.caches import Caches
from controller.gpuunit.verdict import Verdict
from controller.kinds import GPU_STORAGES
from controller.runtime.key import ObjectKey
from controller.runtime.kind import key_of
from controller.runtime.writer import Writer
from shared import wellknown
from shared.phases import StoragePhase
from shared.reasons import UnitReason
from shared.storage_lock import StorageLock, lock_of, taking
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit


class Storages:
    """Takes the locks of a unit's storages, in the order of their names: nobody waits in a ring."""

    def __init__(self, caches: Caches, writer: Writer) -> None:
        self._caches = caches
        self._writer = writer

    async def take(self, unit: GPUUnit, mounted: Collection[str]) -> Verdict | None:
        """What the unit waits for, or None once all are its own; `mounted` are so already."""
        waiting = unready_storages(unit, self._caches)
        if waiting:
            return Verdict.progressing(UnitReason.STORAGE_NOT_READY, "; ".join(waiting))
        for name in sorted({mount.name for mount in unit.spec.storage_mounts}):
            storage = self._caches.storages.get(ObjectKey(unit.metadata.namespace, name))
            if storage is None:
                continue  # it has gone just now, which wakes the unit
            lock = lock_of(storage.metadata.annotations)
            if lock is not None and not is_lock_of(unit, lock):
                said = f"GPUStorage {name} is in use by {lock.holder}"
                return Verdict.progressing(UnitReason.STORAGE_IN_USE, said)
            if not is_confirmed(unit, lock, is_mounted=name in mounted):
                body = taking(storage.metadata, wanted_lock(unit))
                await self._writer.patch(GPU_STORAGES, key_of(storage), body)
        return None


def unready_storages(unit: GPUUnit, caches: Caches) -> list[str]:
    """One sentence for each storage that keeps the unit waiting."""
    found = (
        unreadiness(
            unit, mount.name, caches.storages.get(ObjectKey(unit.metadata.namespace, mount.name))
        )
        for mount in unit.spec.storage_mounts
    )
    return [said for said in found if said is not None]


def unreadiness(unit: GPUUnit, name: str, storage: GPUStorage | None) -> str | None:
    """Why the unit cannot mount it; one that goes still serves the unit that has it."""
    if storage is None:
        return f"GPUStorage {name} does not exist (yet)"
    lock = lock_of(storage.metadata.annotations)
    is_ours = lock is not None and is_lock_of(unit, lock)
    if storage.metadata.deletion_timestamp is not None and not is_ours:
        return f"GPUStorage {name} is being deleted"
    if storage.status.phase != StoragePhase.READY:
        phase = storage.status.phase or StoragePhase.PENDING.value
        return f"GPUStorage {name} is not ready: it is {phase}"
    return None


def is_lock_of(unit: GPUUnit, lock: StorageLock) -> bool:
    """Whether the lock is the unit's, or was taken for it by the operation that made it."""
    meta = unit.metadata
    if lock.uid:
        return lock.uid == meta.uid
    operation = meta.annotations.get(wellknown.OPERATION_ID)
    return lock.unit == meta.name and operation is not None and lock.operation == operation


def is_confirmed(unit: GPUUnit, lock: StorageLock | None, *, is_mounted: bool) -> bool:
    """Whether the lock cannot be on its way to be taken from the unit.

    It might be, if the unit did not mount the storage until now: then it is written anew, and
    whoever wanted to take it away on account of what the unit was before cannot any more.
    """
    if lock is None or not lock.uid:
        return False
    return is_mounted or lock.generation == unit.metadata.generation


def wanted_lock(unit: GPUUnit) -> StorageLock:
    """The lock of a unit as it is now."""
    meta = unit.metadata
    return StorageLock(
        unit=meta.name,
        uid=meta.uid,
        operation=meta.annotations.get(wellknown.OPERATION_ID, ""),
        generation=meta.generation,
    )
