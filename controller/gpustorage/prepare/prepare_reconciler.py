"""Reconciler of the prepare Job: a Job is kept until its outcome is in the status."""

from collections.abc import Iterable
from contextlib import suppress

from controller.apply.applier import ChildApplier
from controller.caches import BY_PVC, Caches
from controller.gpustorage.prepare.start import PrepareStarter, waiting_blocker
from controller.gpustorage.prepare.state import JobAction, next_job_action, next_prepare_status
from controller.gpustorage.prepare_status import FINAL_PHASES, recorded_prepare_status
from controller.gpustorage.resources.prepare_job import (
    has_outcome_finalizer,
    is_prepare_job_of,
    prepare_job_key,
)
from controller.gpustorage.status.outcome import StorageBlocker
from controller.kinds import JOBS, NETWORK_POLICIES
from controller.object_reader import ObjectReader
from controller.runtime import (
    ConflictError,
    NotFoundError,
    ObjectKey,
    Preconditions,
    Writer,
    is_controlled_by,
    key_of,
)
from controller.status.pod_diagnosis import scheduling_message, termination_message, waiting_message
from shared.k8s.job import Job
from shared.k8s.pod import Pod
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus
from shared.v1alpha1.phases import PreparePhase


class PrepareReconciler:
    """Reconciler that starts, observes and deletes the Jobs of storages."""

    def __init__(
        self,
        caches: Caches,
        reader: ObjectReader,
        starter: PrepareStarter,
        applier: ChildApplier[GPUStorage],
        writer: Writer,
    ) -> None:
        self._caches = caches
        self._reader = reader
        self._starter = starter
        self._applier = applier
        self._writer = writer

    async def reconcile_prepare(
        self,
        storage: GPUStorage,
        pvc: PersistentVolumeClaim | None,
        storage_class: StorageClass | None,
    ) -> tuple[PrepareStatus, StorageBlocker | None]:
        """Start the Job if it is due; return the status to record and what blocks it."""
        job, blocker = await self._own_job(storage), None
        if next_job_action(recorded_prepare_status(storage), job) is JobAction.START:
            blocker = await self._starter.start(storage, pvc, storage_class)
            job = await self._own_job(storage)
        pods = [] if job is None else self._job_pods(storage, job)
        status = next_prepare_status(storage, job, failure_message(pods))
        message = wait_message(pods)
        if blocker is None and message and status.phase not in FINAL_PHASES:
            blocker = waiting_blocker(message)
        return status, blocker

    def _job_pods(self, storage: GPUStorage, job: Job) -> list[Pod]:
        meta = storage.metadata
        pods = self._caches.pods.by_index(meta.namespace, BY_PVC, meta.name)
        return [pod for pod in pods if is_controlled_by(pod.metadata, [job.metadata.uid])]

    async def _own_job(self, storage: GPUStorage) -> Job | None:
        """Return the storage's own Job, from the server if it is recorded but not cached."""
        job = self._caches.jobs.get(prepare_job_key(key_of(storage)))
        recorded = recorded_prepare_status(storage)
        is_active = recorded.phase in (PreparePhase.PENDING, PreparePhase.RUNNING)
        if job is None and recorded.job_name and is_active:
            job = await self._reader.live_prepare_job(storage.metadata.name)
        is_own = job is not None and is_controlled_by(job.metadata, [storage.metadata.uid])
        return job if is_own else None

    async def clean_up_job(self, storage: GPUStorage) -> None:
        """Release the Job whose outcome is recorded in `storage`, and delete an obsolete Job."""
        job = self._caches.jobs.get(prepare_job_key(key_of(storage)))
        if job is not None and not is_controlled_by(job.metadata, [storage.metadata.uid]):
            await self._release_predecessor_job(storage, job)
            return
        recorded = recorded_prepare_status(storage)
        action = next_job_action(recorded, job)
        if job is not None and action in (JobAction.RELEASE, JobAction.DELETE):
            await self._remove_outcome_finalizer(job)
        if job is not None and action is JobAction.DELETE:
            await self._delete_job(job)
        if recorded.phase == PreparePhase.SUCCEEDED:
            policy = self._caches.network_policies.get(prepare_job_key(key_of(storage)))
            await self._applier.delete(storage, NETWORK_POLICIES, policy)

    async def abort(self, storage: GPUStorage) -> None:
        """Delete the Job of a storage that is being deleted."""
        job = self._caches.jobs.get(prepare_job_key(key_of(storage)))
        if job is not None and is_controlled_by(job.metadata, [storage.metadata.uid]):
            await self._remove_outcome_finalizer(job)
            await self._delete_job(job)

    async def release_job_of_deleted(self, key: ObjectKey) -> None:
        """Release the Job of a storage that does not exist any more."""
        job = self._caches.jobs.get(prepare_job_key(key))
        if job is None or not is_prepare_job_of(job, key.name):
            return
        if await self._reader.live_storage(key.name) is None:
            await self._remove_outcome_finalizer(job)

    async def _release_predecessor_job(self, storage: GPUStorage, job: Job) -> None:
        """Release the Job of an earlier storage of the same name."""
        if is_prepare_job_of(job, storage.metadata.name):
            await self._remove_outcome_finalizer(job)

    async def _remove_outcome_finalizer(self, job: Job) -> None:
        if not has_outcome_finalizer(job):
            return
        meta = job.metadata
        others = [name for name in meta.finalizers if name != wellknown.OUTCOME_FINALIZER]
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        with suppress(NotFoundError):
            body = {"metadata": {**preconditions, "finalizers": others}}
            await self._writer.patch(JOBS, key_of(job), body)

    async def _delete_job(self, job: Job) -> None:
        with suppress(NotFoundError, ConflictError):
            await self._writer.delete(JOBS, key_of(job), Preconditions(uid=job.metadata.uid))


def failure_message(pods: Iterable[Pod]) -> str:
    """Return how the last failed container ended; empty if none failed."""
    messages = [
        f"container {container.name} ended with {termination_message(container.state.terminated)}"
        for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
        if pod.status.phase == "Failed"
        for container in pod.status.container_statuses
        if container.state.terminated is not None
    ]
    return messages[-1] if messages else ""


def wait_message(pods: Iterable[Pod]) -> str:
    """Return what the first waiting pod waits for; empty if none waits."""
    messages = (
        text
        for pod in pods
        for text in (scheduling_message(pod), *map(waiting_message, pod.status.container_statuses))
    )
    return next(filter(None, messages), "")
