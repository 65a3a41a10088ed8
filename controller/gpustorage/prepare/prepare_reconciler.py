"""The Job of a storage: kept until its outcome is recorded, and then let go."""

from contextlib import suppress

from controller.apply.applier import Sync
from controller.caches import BY_CLAIM, Caches
from controller.gpustorage.prepare.job_pods import delay, endings
from controller.gpustorage.prepare.start import Start, waits
from controller.gpustorage.prepare.state import OVER, Move, known_prepare, next_move, next_prepare
from controller.gpustorage.resources.prepare_job import (
    has_outcome_pending,
    is_of_a_storage,
    job_key,
)
from controller.gpustorage.status.blocker import Hitch
from controller.kinds import JOBS, NETWORK_POLICIES
from controller.object_reader import Lookup
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Condition
from controller.runtime.client.kind import key_of
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.errors import ConflictError, NotFoundError
from controller.runtime.key import ObjectKey
from shared.k8s.job import Job
from shared.k8s.pod import Pod
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus
from shared.v1alpha1.phases import PreparePhase


class Preparation:
    """Reads Jobs, and takes them away when they are of no more use."""

    def __init__(
        self,
        caches: Caches,
        lookup: Lookup,
        start: Start,
        sync: Sync[GPUStorage],
        writer: Writer,
    ) -> None:
        self._caches = caches
        self._lookup = lookup
        self._start = start
        self._sync = sync
        self._writer = writer

    async def keep(
        self, storage: GPUStorage, claim: VolumeClaim | None, kind: StorageClass | None
    ) -> tuple[PrepareStatus, Hitch | None]:
        """Begin the filling if it is due; how far along it is, and what it waits for."""
        job, hitch = await self._job(storage), None
        if next_move(known_prepare(storage), job) is Move.START:
            hitch = await self._start.begin(storage, claim, kind)
            job = await self._job(storage)
        pods = [] if job is None else self._pods(storage, job)
        found, said = next_prepare(storage, job, endings(pods)), delay(pods)
        if hitch is None and said and found.phase not in OVER:
            hitch = waits(said)
        return found, hitch

    def _pods(self, storage: GPUStorage, job: Job) -> list[Pod]:
        meta = storage.metadata
        found = self._caches.pods.by_index(meta.namespace, BY_CLAIM, meta.name)
        return [pod for pod in found if is_controlled_by(pod.metadata, [job.metadata.uid])]

    async def _job(self, storage: GPUStorage) -> Job | None:
        """The storage's own Job; that one is gone is believed only of the server."""
        found = self._caches.jobs.get(job_key(key_of(storage)))
        known = known_prepare(storage)
        runs = known.phase in (PreparePhase.PENDING, PreparePhase.RUNNING)
        if found is None and known.job_name and runs:
            found = await self._lookup.live_prepare_job(storage.metadata.name)
        is_ours = found is not None and is_controlled_by(found.metadata, [storage.metadata.uid])
        return found if is_ours else None

    async def tidy(self, storage: GPUStorage) -> None:
        """Let a Job go whose outcome is recorded in `storage`, and remove what is of no use."""
        job = self._caches.jobs.get(job_key(key_of(storage)))
        if job is not None and not is_controlled_by(job.metadata, [storage.metadata.uid]):
            await self._forget_earlier(storage, job)
            return
        known = known_prepare(storage)
        move = next_move(known, job)
        if job is not None and move in (Move.LET_GO, Move.REMOVE):
            await self._let_go(job)
        if job is not None and move is Move.REMOVE:
            await self._delete(job)
        if known.phase == PreparePhase.SUCCEEDED:
            policy = self._caches.policies.get(job_key(key_of(storage)))
            await self._sync.remove(storage, NETWORK_POLICIES, policy)

    async def stop(self, storage: GPUStorage) -> None:
        """End the filling of a storage that is being deleted."""
        job = self._caches.jobs.get(job_key(key_of(storage)))
        if job is not None and is_controlled_by(job.metadata, [storage.metadata.uid]):
            await self._let_go(job)
            await self._delete(job)

    async def forget(self, key: ObjectKey) -> None:
        """Let the Job of a storage go that is no longer there, whoever took it away."""
        job = self._caches.jobs.get(job_key(key))
        if job is None or not is_of_a_storage(job, key.name):
            return
        if await self._lookup.live_storage(key.name) is None:
            await self._let_go(job)

    async def _forget_earlier(self, storage: GPUStorage, job: Job) -> None:
        """Nobody else will record the outcome of a Job whose storage had the same name."""
        if is_of_a_storage(job, storage.metadata.name):
            await self._let_go(job)

    async def _let_go(self, job: Job) -> None:
        if not has_outcome_pending(job):
            return
        meta = job.metadata
        others = [each for each in meta.finalizers if each != wellknown.OUTCOME_FINALIZER]
        seen = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        with suppress(NotFoundError):
            body = {"metadata": {**seen, "finalizers": others}}
            await self._writer.patch(JOBS, key_of(job), body)

    async def _delete(self, job: Job) -> None:
        with suppress(NotFoundError, ConflictError):
            await self._writer.delete(JOBS, key_of(job), Condition(uid=job.metadata.uid))
