"""Storages that a unit mounts: each must be ready and locked for the unit."""

from collections.abc import Collection, Sequence

import msgspec

from controller.caches import BY_OWNER, Caches
from controller.gpuunit.observation import Observation
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.storage_lock_ownership import (
    desired_lock,
    is_lock_confirmed,
    is_lock_held_by,
    is_lock_without_uid,
)
from controller.kinds import GPU_STORAGES
from controller.runtime import ObjectKey, Writer, is_controlled_by, key_of
from controller.volume_users import pvc_users
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.storage_lock import StorageLock, lock_patch, parse_storage_lock


class StorageMounts:
    """Acquirer of the locks of a unit's storages, in name order to avoid deadlock."""

    def __init__(self, caches: Caches, writer: Writer) -> None:
        self._caches = caches
        self._writer = writer

    async def acquire_locks(
        self, observation: Observation, mounted_names: Collection[str]
    ) -> UnitReadiness | None:
        """Lock all storages of the unit; return what it waits for, None once it holds them all.

        `mounted_names` are the storages that its Deployment mounts already.
        """
        waiting = await self._acquire_all(observation, mounted_names)
        if waiting is not None:
            await self._write_uid_to_locks(observation.unit)
        return waiting

    async def _acquire_all(
        self, observation: Observation, mounted_names: Collection[str]
    ) -> UnitReadiness | None:
        unit = observation.unit
        waiting = unready_storage_messages(unit, self._caches)
        if waiting:
            return UnitReadiness.progressing(UnitReason.STORAGE_NOT_READY, "; ".join(waiting))
        for name in mounted_storage_names(unit):
            storage = self._storage(unit, name)
            message = unready_storage_message(unit, name, storage)  # it may be gone by now
            if storage is None or message is not None:
                return UnitReadiness.progressing(UnitReason.STORAGE_NOT_READY, message or "")
            lock = parse_storage_lock(storage.metadata.annotations)
            is_held = is_lock_confirmed(unit, lock, is_mounted=name in mounted_names)
            foreign = () if is_held else self._foreign_users(observation, name)
            user = other_user_name(unit, lock, foreign)
            if user is not None:
                message = f"GPUStorage {name} is in use by {user}"
                return UnitReadiness.progressing(UnitReason.STORAGE_IN_USE, message)
            if not is_held:
                await self._write_lock(storage, desired_lock(unit))
        return None

    async def _write_uid_to_locks(self, unit: GPUUnit) -> None:
        """Add the unit's uid to locks of its operation, so that they outlive the operation.

        The lock gets no generation, because the unit does not mount the storage yet.
        """
        for name in mounted_storage_names(unit):
            storage = self._storage(unit, name)
            lock = None if storage is None else parse_storage_lock(storage.metadata.annotations)
            if storage is not None and lock is not None and is_lock_without_uid(unit, lock):
                await self._write_lock(
                    storage, msgspec.structs.replace(lock, uid=unit.metadata.uid)
                )

    def _storage(self, unit: GPUUnit, name: str) -> GPUStorage | None:
        return self._caches.storages.get(ObjectKey(unit.metadata.namespace, name))

    async def _write_lock(self, storage: GPUStorage, lock: StorageLock) -> None:
        await self._writer.patch(GPU_STORAGES, key_of(storage), lock_patch(storage.metadata, lock))

    def _foreign_users(self, observation: Observation, pvc_name: str) -> list[ObjectMeta]:
        """Return the other users of the volume, read from the caches now.

        Their lock may have been released before they ended.
        """
        own = own_controller_uids(observation, self._caches)
        namespace = observation.unit.metadata.namespace
        users = pvc_users(self._caches, ObjectKey(namespace, pvc_name))
        return [user for user in users if not is_controlled_by(user, own)]


def mounted_storage_names(unit: GPUUnit) -> list[str]:
    """Return the names in the order in which they are locked."""
    return sorted({mount.name for mount in unit.spec.storage_mounts})


def own_controller_uids(observation: Observation, caches: Caches) -> list[str]:
    """Return the uids of the unit, its Deployment and its ReplicaSets."""
    deployment, meta = observation.workload.deployment, observation.unit.metadata
    if deployment is None:
        return [meta.uid]
    uid = deployment.metadata.uid
    replica_sets = caches.replica_sets.by_index(meta.namespace, BY_OWNER, uid)
    return [meta.uid, uid, *(replica_set.metadata.uid for replica_set in replica_sets)]


def other_user_name(
    unit: GPUUnit, lock: StorageLock | None, foreign_users: Sequence[ObjectMeta]
) -> str | None:
    """Return the name of another user, from the lock or the pods; None if there is none."""
    if lock is not None and not is_lock_held_by(unit, lock):
        return lock.holder_text
    if not foreign_users:
        return None
    name = foreign_users[0].labels.get(wellknown.UNIT_LABEL)
    return f"unit {name}" if name else foreign_users[0].name


def unready_storage_messages(unit: GPUUnit, caches: Caches) -> list[str]:
    """Return one message for each storage that the unit waits for."""
    messages = (
        unready_storage_message(
            unit, mount.name, caches.storages.get(ObjectKey(unit.metadata.namespace, mount.name))
        )
        for mount in unit.spec.storage_mounts
    )
    return [message for message in messages if message is not None]


def unready_storage_message(unit: GPUUnit, name: str, storage: GPUStorage | None) -> str | None:
    """Return why the unit cannot mount the storage; None if it can.

    A storage that is being deleted still serves the unit that holds its lock.
    """
    if storage is None:
        return f"GPUStorage {name} does not exist yet"
    lock = parse_storage_lock(storage.metadata.annotations)
    is_ours = lock is not None and is_lock_held_by(unit, lock)
    if storage.metadata.deletion_timestamp is not None and not is_ours:
        return f"GPUStorage {name} is being deleted"
    if storage.status.phase != StoragePhase.READY:
        phase = storage.status.phase or StoragePhase.PENDING.value
        return f"GPUStorage {name} is not ready: its phase is {phase}"
    return None
