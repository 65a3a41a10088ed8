"""The storages that a unit mounts: each must be ready, and the unit's alone."""

from collections.abc import Collection, Sequence

import msgspec

from controller.caches import BY_OWNER, Caches
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.storage_lock_ownership import (
    is_confirmed,
    is_lock_of,
    is_unnamed,
    wanted_lock,
)
from controller.gpuunit.workload import observe
from controller.kinds import GPU_STORAGES
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.key import ObjectKey
from controller.volume_users import users_of
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.storage_lock import StorageLock, lock_of, taking


class Storages:
    """Takes the locks of a unit's storages, in the order of their names: nobody waits in a ring."""

    def __init__(self, caches: Caches, writer: Writer) -> None:
        self._caches = caches
        self._writer = writer

    async def take(self, unit: GPUUnit, mounted: Collection[str]) -> Verdict | None:
        """What the unit waits for, or None once all are its own; `mounted` are so already."""
        waiting = await self._obtain(unit, mounted)
        if waiting is not None:
            await self._name(unit)
        return waiting

    async def _obtain(self, unit: GPUUnit, mounted: Collection[str]) -> Verdict | None:
        waiting = unready_storages(unit, self._caches)
        if waiting:
            return Verdict.progressing(UnitReason.STORAGE_NOT_READY, "; ".join(waiting))
        for name in mount_names(unit):
            storage = self._storage(unit, name)
            said = unreadiness(unit, name, storage)  # it may have gone just now
            if storage is None or said is not None:
                return Verdict.progressing(UnitReason.STORAGE_NOT_READY, said or "")
            lock = lock_of(storage.metadata.annotations)
            is_held = is_confirmed(unit, lock, is_mounted=name in mounted)
            user = other_user(unit, lock, () if is_held else self._strangers(unit, name))
            if user is not None:
                said = f"GPUStorage {name} is in use by {user}"
                return Verdict.progressing(UnitReason.STORAGE_IN_USE, said)
            if not is_held:
                await self._write(storage, wanted_lock(unit))
        return None

    async def _name(self, unit: GPUUnit) -> None:
        """What its operation has locked is the unit's, also when the record has gone.

        Without a generation, as it does not mount the storage yet.
        """
        for name in mount_names(unit):
            storage = self._storage(unit, name)
            lock = None if storage is None else lock_of(storage.metadata.annotations)
            if storage is not None and lock is not None and is_unnamed(unit, lock):
                await self._write(storage, msgspec.structs.replace(lock, uid=unit.metadata.uid))

    def _storage(self, unit: GPUUnit, name: str) -> GPUStorage | None:
        return self._caches.storages.get(ObjectKey(unit.metadata.namespace, name))

    async def _write(self, storage: GPUStorage, lock: StorageLock) -> None:
        await self._writer.patch(GPU_STORAGES, key_of(storage), taking(storage.metadata, lock))

    def _strangers(self, unit: GPUUnit, claim: str) -> list[ObjectMeta]:
        """Who uses the volume and is not the unit's own; locks can be torn away from those."""
        own = own_makers(unit, self._caches)
        users = users_of(self._caches, ObjectKey(unit.metadata.namespace, claim))
        return [user for user in users if not is_controlled_by(user, own)]


def mount_names(unit: GPUUnit) -> list[str]:
    """In the order in which they are locked."""
    return sorted({mount.name for mount in unit.spec.storage_mounts})


def own_makers(unit: GPUUnit, caches: Caches) -> list[str]:
    """The uids of the unit, its Deployment and its ReplicaSets."""
    deployment, meta = observe(caches, unit).deployment, unit.metadata
    if deployment is None:
        return [meta.uid]
    uid = deployment.metadata.uid
    sets = caches.replica_sets.by_index(meta.namespace, BY_OWNER, uid)
    return [meta.uid, uid, *(each.metadata.uid for each in sets)]


def other_user(
    unit: GPUUnit, lock: StorageLock | None, strangers: Sequence[ObjectMeta]
) -> str | None:
    """Who else has the storage, by its lock or in fact."""
    if lock is not None and not is_lock_of(unit, lock):
        return lock.holder
    if not strangers:
        return None
    name = strangers[0].labels.get(wellknown.UNIT_LABEL)
    return f"unit {name}" if name else strangers[0].name


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
