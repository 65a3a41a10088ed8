"""What a filling waits for before it may begin: decided by values alone."""

from controller.gpustorage.prepare.state import known_prepare
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.storage_lock import StorageLock, lock_of


def lock_for_filling(storage: GPUStorage) -> StorageLock:
    """The lock that an attempt takes, of the storage and of the one that it copies."""
    meta = storage.metadata
    attempt = known_prepare(storage).recovered_by
    return StorageLock(prepare=meta.name, uid=meta.uid, operation=attempt)


def is_filling_of(storage: GPUStorage, lock: StorageLock) -> bool:
    """Whether the lock is of this or an earlier attempt at filling `storage`."""
    return bool(lock.prepare) and lock.uid == storage.metadata.uid


def unavailable(storage: GPUStorage, name: str, origin: GPUStorage | None) -> str | None:
    """Why the files of `origin` cannot be copied now."""
    if origin is None:
        return f"GPUStorage {name}, whose files are to be copied, does not exist (yet)"
    lock = lock_of(origin.metadata.annotations)
    if lock is not None and not is_filling_of(storage, lock):
        return f"GPUStorage {name}, whose files are to be copied, is in use by {lock.holder}"
    if origin.metadata.deletion_timestamp is not None:
        return f"GPUStorage {name}, whose files are to be copied, is being deleted"
    if origin.status.phase != StoragePhase.READY:
        phase = origin.status.phase or StoragePhase.PENDING.value
        return f"GPUStorage {name}, whose files are to be copied, is not ready: it is {phase}"
    return None
