"""Conditions for the start of a prepare, as pure functions."""

from controller.gpustorage.prepare_status import recorded_prepare_status
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.storage_lock import StorageLock, parse_storage_lock


def prepare_lock(storage: GPUStorage) -> StorageLock:
    """Return the lock that an attempt acquires, on the storage and on its copy source."""
    meta = storage.metadata
    attempt = recorded_prepare_status(storage).recovered_by
    return StorageLock(prepare=meta.name, uid=meta.uid, operation=attempt)


def is_prepare_lock_of(storage: GPUStorage, lock: StorageLock) -> bool:
    """Return whether the lock is of this or an earlier attempt to prepare `storage`."""
    return bool(lock.prepare) and lock.uid == storage.metadata.uid


def source_unavailable_message(
    storage: GPUStorage, source_name: str, source: GPUStorage | None
) -> str | None:
    """Return why the files of `source` cannot be copied now; None if they can."""
    if source is None:
        return f"copy source GPUStorage {source_name} does not exist yet"
    lock = parse_storage_lock(source.metadata.annotations)
    if lock is not None and not is_prepare_lock_of(storage, lock):
        return f"copy source GPUStorage {source_name} is in use by {lock.holder_text}"
    if source.metadata.deletion_timestamp is not None:
        return f"copy source GPUStorage {source_name} is being deleted"
    if source.status.phase != StoragePhase.READY:
        phase = source.status.phase or StoragePhase.PENDING.value
        return f"copy source GPUStorage {source_name} is not ready: its phase is {phase}"
    return None
