"""The locks of storages, which an operation takes before it claims stock for its unit.

Who holds a lock is in an annotation of the storage; it is set by compare-and-set only. The
controller takes the locks of units that have none, and frees those that nobody needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from apiserver.commands import CreateUnit
from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Objects
from apiserver.kube.resources import GPU_STORAGES
from apiserver.operations.retry import Patience
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.storage_lock import StorageLock, freeing, lock_of, taking
from shared.v1alpha1.wellknown import ATTEMPT


@dataclass(frozen=True, slots=True)
class Held:
    """Locks that were taken just now, and by us; or why one cannot be had."""

    fresh: tuple[GPUStorage, ...] = ()
    refusal: ConflictError | None = None


class Say(Enum):
    """What is to be done about the lock of one storage."""

    TAKE = auto()
    KEEP = auto()
    LATER = auto()  # it is still to be filled: the controller locks it for the unit afterwards
    REFUSE = auto()


class MountLocks:
    """The locks of the storages in the instance namespace."""

    def __init__(self, objects: Objects, namespace: str, patience: Patience) -> None:
        self._objects = objects
        self._namespace = namespace
        self._patience = patience

    async def missing(self, mounts: Sequence[StorageMount]) -> ConflictError | None:
        """Why a unit with these mounts cannot be: one of the storages does not exist."""
        for mount in mounts:
            if await self._find(mount.name) is None:
                return absent(mount.name)
        return None

    async def take(self, record: Operation, command: CreateUnit) -> Held:
        """Take every lock in the order of the names, so that no two wait for each other."""
        fresh: list[GPUStorage] = []
        for name in sorted(mount.name for mount in command.storage_mounts):
            taken = await self._take(name, record, command.name)
            if isinstance(taken, ConflictError):
                return Held(tuple(fresh), taken)
            fresh += [taken] if taken is not None else []
        return Held(tuple(fresh))

    async def release(self, held: Held) -> None:
        """Give back what was taken for an operation that has failed meanwhile."""
        for storage in held.fresh:
            await self._patch(storage, freeing(storage.metadata))

    async def require_free(self, unit: GPUUnit, mounts: Sequence[StorageMount]) -> None:
        """Refuse mounts that are new to the unit and somebody else's; the controller locks them."""
        known = {mount.name for mount in unit.spec.storage_mounts}
        for mount in mounts:
            storage = None if mount.name in known else await self._find(mount.name)
            if storage is not None and not is_free_for(storage, unit):
                raise refusal(storage)

    async def _take(
        self, name: str, record: Operation, unit_name: str
    ) -> GPUStorage | ConflictError | None:
        """The storage if it was locked just now; None where nothing was to be written."""
        attempt = record.status.attempt
        lock = StorageLock(unit=unit_name, operation=record.spec.operation_id)
        while True:
            storage = await self._find(name)
            if storage is None:
                return absent(name)
            match judge(storage, lock, attempt):
                case Say.REFUSE:
                    return refusal(storage)
                case Say.KEEP | Say.LATER:
                    return None
            taken = await self._patch(storage, marked(storage, lock, attempt))
            if taken is not None:
                return taken

    async def _find(self, name: str) -> GPUStorage | None:
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(GPU_STORAGES, self._namespace, name)
            )
        except kube_errors.AbsentError:
            return None

    async def _patch(self, storage: GPUStorage, body: Body) -> GPUStorage | None:
        name = storage.metadata.name
        try:
            return await self._patience.with_call(
                lambda: self._objects.patch(GPU_STORAGES, self._namespace, name, body)
            )
        except (kube_errors.StaleError, kube_errors.AbsentError):
            return None


def judge(storage: GPUStorage, wanted: StorageLock, attempt: int) -> Say:
    """What an operation does about the lock; `wanted` is what it would be."""
    found = lock_of(storage.metadata.annotations)
    if found == wanted and noted_attempt(storage) == str(attempt):
        return Say.KEEP
    if storage.metadata.deletion_timestamp is not None:
        return Say.REFUSE
    if found is None:
        return Say.TAKE if is_filled(storage) else Say.LATER
    if found.prepare:
        return Say.LATER if found.prepare == storage.metadata.name else Say.REFUSE
    # What an earlier attempt has locked may be being freed just now: it is locked again. With a
    # uid it is a unit's, also one that this very operation has made without us.
    is_ours = found.operation == wanted.operation and not found.uid
    return Say.TAKE if is_ours else Say.REFUSE


def is_free_for(storage: GPUStorage, unit: GPUUnit) -> bool:
    """Whether the unit may wait for the lock of the storage, or has it."""
    lock = lock_of(storage.metadata.annotations)
    if lock is not None and lock.unit == unit.metadata.name and lock.uid == unit.metadata.uid:
        return True
    if storage.metadata.deletion_timestamp is not None:
        return False
    return lock is None or lock.prepare == storage.metadata.name


def is_filled(storage: GPUStorage) -> bool:
    """Whether no filling is to come, for which the storage must be free."""
    status = storage.status.prepare
    done = status is not None and status.phase == PreparePhase.SUCCEEDED
    return storage.spec.prepare is None or done


def noted_attempt(storage: GPUStorage) -> str:
    """Which attempt of the operation has locked the storage; the first is not noted."""
    return storage.metadata.annotations.get(ATTEMPT, "0")


def marked(storage: GPUStorage, lock: StorageLock, attempt: int) -> Body:
    """All of a lock in one write; the attempt makes it another version than before."""
    body = taking(storage.metadata, lock)
    body["metadata"]["annotations"][ATTEMPT] = str(attempt) if attempt else None
    return body


def refusal(storage: GPUStorage) -> ConflictError:
    """Why the storage cannot be mounted."""
    name, lock = storage.metadata.name, lock_of(storage.metadata.annotations)
    if lock is None:
        return ConflictError(f"the storage {name!r} is being deleted")
    return ConflictError(f"the storage {name!r} is in use by {lock.holder}")


def absent(name: str) -> ConflictError:
    return ConflictError(f"there is no storage {name!r}; create it first")
