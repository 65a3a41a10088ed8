"""Starting to fill a storage: the Job comes last, after the locks of all that it touches."""

from typing import Any

from controller.apply.applier import Sync
from controller.apply.child import Child, child
from controller.caches import Caches
from controller.gpustorage.locks.users import is_in_use
from controller.gpustorage.prepare.copy_source import unavailable
from controller.gpustorage.prepare.prepare_locks import FillingLocks
from controller.gpustorage.prepare.state import known_prepare
from controller.gpustorage.resources.network_policy import prepare_policy
from controller.gpustorage.resources.prepare_job import is_of_a_storage, job_key, prepare_job
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.blocker import Hitch, hitch_of
from controller.gpustorage.status.readiness import Verdict
from controller.gpustorage.volume_readiness import is_usable
from controller.kinds import GPU_STORAGES, JOBS, NETWORK_POLICIES
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.errors import ForbiddenError, InvalidError
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage, Prepare
from shared.v1alpha1.reasons import EventReason, StorageReason


class Start:
    """Begins one attempt, and never a second time what the server knows to have ended."""

    def __init__(
        self,
        caches: Caches,
        locks: FillingLocks,
        settings: StorageSettings,
        sync: Sync[GPUStorage],
        writer: Writer,
        recorder: EventRecorder,
    ) -> None:
        self._caches = caches
        self._locks = locks
        self._settings = settings
        self._sync = sync
        self._writer = writer
        self._recorder = recorder

    async def begin(
        self, storage: GPUStorage, claim: VolumeClaim | None, kind: StorageClass | None
    ) -> Hitch | None:
        """Start the Job, holding the locks of all that it touches; or tell what it waits for."""
        wanted = storage.spec.prepare
        if wanted is None:
            return None
        hitch = self._obstacle(storage, wanted, claim, kind) or self._foreign_job(storage)
        if hitch is not None:
            return hitch
        hitch = await self._refusal(storage, wanted)
        if hitch is not None:
            await self._locks.give_back(storage, wanted.from_storage_name)
            return hitch
        await self._locks.take(storage, wanted.from_storage_name)
        return await self._create(storage, wanted)

    def _obstacle(
        self,
        storage: GPUStorage,
        wanted: Prepare,
        claim: VolumeClaim | None,
        kind: StorageClass | None,
    ) -> Hitch | None:
        name = wanted.from_storage_name
        if name == storage.metadata.name:
            said = "prepare.fromStorageName: a storage cannot be a copy of itself"
            return Hitch(Verdict.failed(StorageReason.INVALID_SPEC, said))
        if claim is None or not is_usable(claim, kind):
            return waits("the volume is not there yet")
        if is_in_use(self._caches, storage):
            return waits("the pods of an earlier attempt have not gone yet")
        if not name:
            return None
        origin = self._caches.storages.get(ObjectKey(storage.metadata.namespace, name))
        said = unavailable(storage, name, origin) or ""
        if not said and origin is not None and is_in_use(self._caches, origin):
            said = f"GPUStorage {name}, whose files are to be copied, is in use"
        return waits(said) if said else None

    def _foreign_job(self, storage: GPUStorage) -> Hitch | None:
        job = self._caches.jobs.get(job_key(key_of(storage)))
        if job is None:
            return None
        if is_of_a_storage(job, storage.metadata.name):
            return waits(f"Job {job.metadata.name} of an earlier storage has not gone yet")
        said = f"Job {job.metadata.name} exists and is not this storage's"
        return Hitch(Verdict.failed(StorageReason.CHILD_CONFLICT, said))

    async def _refusal(self, storage: GPUStorage, wanted: Prepare) -> Hitch | None:
        """Why there will be no Job; asked before anybody is kept from a storage for its sake."""
        failed = await self._sync.ensure(storage, [self._policy(storage)])
        if failed is not None:
            return hitch_of(failed)
        try:
            await self._writer.rehearse(JOBS, self._job(storage, wanted))
        except (InvalidError, ForbiddenError) as error:
            return refused(storage, error)
        return None

    async def _create(self, storage: GPUStorage, wanted: Prepare) -> Hitch | None:
        try:
            job = await self._writer.create(JOBS, self._job(storage, wanted))
        except (InvalidError, ForbiddenError) as error:
            return refused(storage, error)
        said = f"{EventReason.CREATED} Job {job.metadata.name}"
        self._recorder.normal(reference(GPU_STORAGES, storage), EventReason.CREATED, said)
        return None

    def _job(self, storage: GPUStorage, wanted: Prepare) -> dict[str, Any]:
        return prepare_job(storage, wanted, known_prepare(storage).recovered_by, self._settings)

    def _policy(self, storage: GPUStorage) -> Child:
        body = prepare_policy(storage, self._settings)
        live = self._caches.policies.get(job_key(key_of(storage)))
        return child(NETWORK_POLICIES, body, live, StorageReason.PREPARE_SYNC_FAILED)


def waits(why: str) -> Hitch:
    return Hitch(Verdict.pending(StorageReason.NOT_PREPARED, why))


def refused(storage: GPUStorage, error: InvalidError | ForbiddenError) -> Hitch:
    """What the server has against the Job: it will never take it, or a quota is used up."""
    if isinstance(error, InvalidError):
        return Hitch(Verdict.failed(StorageReason.INVALID_SPEC, error.message))
    said = f"Job {names.prepare_job(storage.metadata.name)}: {error.message}"
    return Hitch(Verdict.pending(StorageReason.PREPARE_SYNC_FAILED, said), error)
