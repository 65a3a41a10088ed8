"""The locks of storages, which an operation acquires before it claims stock for its unit.

An annotation of the storage names the holder; it is written by compare-and-set only. The
controller acquires missing locks for units, and releases locks that are not needed any more.
"""

from collections.abc import Sequence
from enum import Enum, auto

from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ObjectClient
from apiserver.kube.resources import GPU_STORAGES
from apiserver.operations.retry import Retry
from apiserver.units.commands import CreateUnit
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.storage_lock import StorageLock, lock_patch, parse_storage_lock, unlock_patch
from shared.v1alpha1.wellknown import ATTEMPT_ANNOTATION


class LockDecision(Enum):
    """What to do about the lock of one storage."""

    TAKE = auto()
    KEEP = auto()
    DEFER = auto()  # it is not prepared yet: the controller locks it for the unit afterwards
    REFUSE = auto()


class StorageLocks:
    """The locks of the storages in the instance namespace."""

    def __init__(self, objects: ObjectClient, namespace: str, retry: Retry) -> None:
        self._objects = objects
        self._namespace = namespace
        self._retry = retry

    async def missing_storage_error(self, mounts: Sequence[StorageMount]) -> ConflictError | None:
        """Return the error for the first storage that does not exist; None if all exist."""
        for mount in mounts:
            if await self._find(mount.name) is None:
                return storage_missing_error(mount.name)
        return None

    async def acquire(self, operation: Operation, command: CreateUnit) -> tuple[GPUStorage, ...]:
        """Acquire all locks in name order, to avoid deadlock; return the newly locked storages.

        ConflictError if a storage is missing or in use; the controller then unlocks the others.
        """
        locked = []
        for name in sorted(mount.name for mount in command.storage_mounts):
            storage = await self._acquire_one(name, operation, command.name)
            if storage is not None:
                locked.append(storage)
        return tuple(locked)

    async def release(self, locked: Sequence[GPUStorage]) -> None:
        """Release locks of an operation that has failed in the meantime."""
        for storage in locked:
            await self._patch(storage, unlock_patch(storage.metadata))

    async def require_available(self, unit: GPUUnit, mounts: Sequence[StorageMount]) -> None:
        """Raise ConflictError for a new mount of a storage in use; the controller locks later."""
        mounted = {mount.name for mount in unit.spec.storage_mounts}
        for mount in mounts:
            storage = None if mount.name in mounted else await self._find(mount.name)
            if storage is not None and not is_available_for(storage, unit):
                raise storage_unavailable_error(storage)

    async def _acquire_one(
        self, name: str, operation: Operation, unit_name: str
    ) -> GPUStorage | None:
        """Return the storage if this call locked it; None if there was nothing to write."""
        attempt = operation.status.attempt
        lock = StorageLock(unit=unit_name, operation=operation.spec.operation_id)
        while True:
            storage = await self._find(name)
            if storage is None:
                raise storage_missing_error(name)
            match decide_lock(storage, lock, attempt):
                case LockDecision.REFUSE:
                    raise storage_unavailable_error(storage)
                case LockDecision.KEEP | LockDecision.DEFER:
                    return None
            locked = await self._patch(storage, attempt_lock_patch(storage, lock, attempt))
            if locked is not None:
                return locked

    async def _find(self, name: str) -> GPUStorage | None:
        try:
            return await self._retry.call(
                lambda: self._objects.get(GPU_STORAGES, self._namespace, name)
            )
        except kube_errors.NotFoundError:
            return None

    async def _patch(self, storage: GPUStorage, body: JsonObject) -> GPUStorage | None:
        name = storage.metadata.name
        try:
            return await self._retry.call(
                lambda: self._objects.patch(GPU_STORAGES, self._namespace, name, body)
            )
        except (kube_errors.ConflictError, kube_errors.NotFoundError):
            return None


def decide_lock(storage: GPUStorage, desired: StorageLock, attempt: int) -> LockDecision:
    """Decide what an operation does to get the lock `desired`."""
    lock = parse_storage_lock(storage.metadata.annotations)
    if lock == desired and locking_attempt(storage) == str(attempt):
        return LockDecision.KEEP
    if storage.metadata.deletion_timestamp is not None:
        return LockDecision.REFUSE
    if lock is None:
        return LockDecision.TAKE if is_prepared(storage) else LockDecision.DEFER
    if lock.prepare:
        return LockDecision.DEFER if lock.prepare == storage.metadata.name else LockDecision.REFUSE
    # The controller may be releasing a lock of an earlier attempt: it is set again. A lock with a
    # uid belongs to a unit, which another process may have created for this operation.
    is_ours = lock.operation == desired.operation and not lock.uid
    return LockDecision.TAKE if is_ours else LockDecision.REFUSE


def is_available_for(storage: GPUStorage, unit: GPUUnit) -> bool:
    """Return whether the unit has the lock of the storage, or may wait for it."""
    lock = parse_storage_lock(storage.metadata.annotations)
    if lock is not None and lock.unit == unit.metadata.name and lock.uid == unit.metadata.uid:
        return True
    if storage.metadata.deletion_timestamp is not None:
        return False
    return lock is None or lock.prepare == storage.metadata.name


def is_prepared(storage: GPUStorage) -> bool:
    """Return whether the storage has no prepare that must still run."""
    status = storage.status.prepare
    has_succeeded = status is not None and status.phase == PreparePhase.SUCCEEDED
    return storage.spec.prepare is None or has_succeeded


def locking_attempt(storage: GPUStorage) -> str:
    """Return the attempt that has locked the storage; the first one is not annotated."""
    return storage.metadata.annotations.get(ATTEMPT_ANNOTATION, "0")


def attempt_lock_patch(storage: GPUStorage, lock: StorageLock, attempt: int) -> JsonObject:
    """Return the patch that sets a lock; the attempt changes the version of the storage."""
    body = lock_patch(storage.metadata, lock)
    body["metadata"]["annotations"][ATTEMPT_ANNOTATION] = str(attempt) if attempt else None
    return body


def storage_unavailable_error(storage: GPUStorage) -> ConflictError:
    """Return the error for a storage that is in use or being deleted."""
    name, lock = storage.metadata.name, parse_storage_lock(storage.metadata.annotations)
    if lock is None:
        return ConflictError(f"the storage {name!r} is being deleted")
    return ConflictError(f"the storage {name!r} is in use by {lock.holder_text}")


def storage_missing_error(name: str) -> ConflictError:
    return ConflictError(f"there is no storage {name!r}; create it first")
