"""Start of a prepare: the Job is created last, after all locks are held."""

from typing import Any

from controller.apply.applier import ChildApplier
from controller.apply.child import Child, make_child
from controller.caches import Caches
from controller.gpustorage.locks.users import is_volume_in_use
from controller.gpustorage.prepare.copy_source import source_unavailable_message
from controller.gpustorage.prepare.prepare_locks import PrepareLocks
from controller.gpustorage.prepare_status import recorded_prepare_status
from controller.gpustorage.resources.network_policy import prepare_network_policy_manifest
from controller.gpustorage.resources.prepare_job import (
    is_prepare_job_of,
    prepare_job_key,
    prepare_job_manifest,
)
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.outcome import StorageBlocker, blocker_of_failure
from controller.gpustorage.status.readiness import StorageReadiness
from controller.gpustorage.volume_readiness import is_volume_mountable
from controller.kinds import GPU_STORAGES, JOBS, NETWORK_POLICIES
from controller.runtime import (
    EventRecorder,
    ForbiddenError,
    InvalidError,
    ObjectKey,
    Writer,
    key_of,
    object_reference,
)
from controller.status.blocker import Blocker
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage, PrepareSpec
from shared.v1alpha1.reasons import EventReason, StorageReason


class PrepareStarter:
    """Starter of one attempt; never repeats an attempt that has ended according to the server."""

    def __init__(
        self,
        caches: Caches,
        prepare_locks: PrepareLocks,
        settings: StorageSettings,
        applier: ChildApplier[GPUStorage],
        writer: Writer,
        recorder: EventRecorder,
    ) -> None:
        self._caches = caches
        self._prepare_locks = prepare_locks
        self._settings = settings
        self._applier = applier
        self._writer = writer
        self._recorder = recorder

    async def start(
        self,
        storage: GPUStorage,
        pvc: PersistentVolumeClaim | None,
        storage_class: StorageClass | None,
    ) -> StorageBlocker | None:
        """Lock all storages of the Job and create it; return what it waits for, None if started."""
        prepare = storage.spec.prepare
        if prepare is None:
            return None
        blocker = self._precondition_blocker(
            storage, prepare, pvc, storage_class
        ) or self._foreign_job_blocker(storage)
        if blocker is not None:
            return blocker
        blocker = await self._dry_run_blocker(storage, prepare)
        if blocker is not None:
            await self._prepare_locks.release_source(storage, prepare.from_storage_name)
            return blocker
        await self._prepare_locks.acquire(storage, prepare.from_storage_name)
        return await self._create_job(storage, prepare)

    def _precondition_blocker(
        self,
        storage: GPUStorage,
        prepare: PrepareSpec,
        pvc: PersistentVolumeClaim | None,
        storage_class: StorageClass | None,
    ) -> StorageBlocker | None:
        name = prepare.from_storage_name
        if name == storage.metadata.name:
            message = "prepare.fromStorageName: a storage cannot be copied from itself"
            return Blocker(StorageReadiness.failed(StorageReason.INVALID_SPEC, message))
        if pvc is None or not is_volume_mountable(pvc, storage_class):
            return waiting_blocker("the volume cannot be mounted yet")
        if is_volume_in_use(self._caches, storage):
            return waiting_blocker("pods of an earlier attempt still use the volume")
        if not name:
            return None
        source = self._caches.storages.get(ObjectKey(storage.metadata.namespace, name))
        message = source_unavailable_message(storage, name, source) or ""
        if not message and source is not None and is_volume_in_use(self._caches, source):
            message = f"copy source GPUStorage {name} is in use"
        return waiting_blocker(message) if message else None

    def _foreign_job_blocker(self, storage: GPUStorage) -> StorageBlocker | None:
        job = self._caches.jobs.get(prepare_job_key(key_of(storage)))
        if job is None:
            return None
        if is_prepare_job_of(job, storage.metadata.name):
            return waiting_blocker(f"Job {job.metadata.name} of an earlier storage still exists")
        message = f"Job {job.metadata.name} exists but does not belong to this storage"
        return Blocker(StorageReadiness.failed(StorageReason.CHILD_CONFLICT, message))

    async def _dry_run_blocker(
        self, storage: GPUStorage, prepare: PrepareSpec
    ) -> StorageBlocker | None:
        """Return why the server would reject the Job; called before a storage is locked for it."""
        failed = await self._applier.apply(storage, [self._network_policy_child(storage)])
        if failed is not None:
            return blocker_of_failure(failed)
        try:
            await self._writer.create_dry_run(JOBS, self._job_manifest(storage, prepare))
        except (InvalidError, ForbiddenError) as error:
            return rejection_blocker(storage, error)
        return None

    async def _create_job(self, storage: GPUStorage, prepare: PrepareSpec) -> StorageBlocker | None:
        try:
            job = await self._writer.create(JOBS, self._job_manifest(storage, prepare))
        except (InvalidError, ForbiddenError) as error:
            return rejection_blocker(storage, error)
        message = f"{EventReason.CREATED} Job {job.metadata.name}"
        self._recorder.normal(object_reference(GPU_STORAGES, storage), EventReason.CREATED, message)
        return None

    def _job_manifest(self, storage: GPUStorage, prepare: PrepareSpec) -> dict[str, Any]:
        return prepare_job_manifest(
            storage, prepare, recorded_prepare_status(storage).recovered_by, self._settings
        )

    def _network_policy_child(self, storage: GPUStorage) -> Child:
        body = prepare_network_policy_manifest(storage, self._settings)
        live = self._caches.network_policies.get(prepare_job_key(key_of(storage)))
        return make_child(NETWORK_POLICIES, body, live, StorageReason.PREPARE_SYNC_FAILED)


def waiting_blocker(message: str) -> StorageBlocker:
    return Blocker(StorageReadiness.pending(StorageReason.NOT_PREPARED, message))


def rejection_blocker(storage: GPUStorage, error: InvalidError | ForbiddenError) -> StorageBlocker:
    """Return the blocker for a rejected Job: its spec is invalid, or a quota is exhausted."""
    if isinstance(error, InvalidError):
        return Blocker(StorageReadiness.failed(StorageReason.INVALID_SPEC, error.message))
    message = f"Job {names.prepare_job_name(storage.metadata.name)}: {error.message}"
    return Blocker(StorageReadiness.pending(StorageReason.PREPARE_SYNC_FAILED, message), error)
