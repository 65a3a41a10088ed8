"""Reconciler of GPUStorages: observe, act, report."""

from controller.caches import Caches
from controller.gpustorage.accessor_reconciler import AccessorReconciler
from controller.gpustorage.locks.lock_reconciler import LockReconciler
from controller.gpustorage.prepare.prepare_reconciler import PrepareReconciler
from controller.gpustorage.prepare_status import DONE_PHASES
from controller.gpustorage.status.outcome import StorageReconcileOutcome
from controller.gpustorage.status.status_writer import StorageStatusWriter
from controller.gpustorage.volume_reconciler import VolumeReconciler
from controller.runtime import ObjectKey, ReconcileError, Result
from shared.k8s.pvc import PersistentVolumeClaim
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus


class GPUStorageReconciler:
    """Reconciler of storages: one volume, prepared once, locked by one holder at a time."""

    def __init__(
        self,
        caches: Caches,
        lock_reconciler: LockReconciler,
        volume_reconciler: VolumeReconciler,
        prepare_reconciler: PrepareReconciler,
        accessor_reconciler: AccessorReconciler,
        status_writer: StorageStatusWriter,
    ) -> None:
        self._caches = caches
        self._lock_reconciler = lock_reconciler
        self._volume_reconciler = volume_reconciler
        self._prepare_reconciler = prepare_reconciler
        self._accessor_reconciler = accessor_reconciler
        self._status_writer = status_writer

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take one step for the storage; the events of our own writes start the next step."""
        storage = self._caches.storages.get(key)
        if storage is None:
            await self._prepare_reconciler.release_job_of_deleted(key)
            return Result()  # the garbage collector deletes the children
        if storage.metadata.deletion_timestamp is not None:
            await self._prepare_reconciler.abort(storage)
            await self._lock_reconciler.reconcile_lock(storage)
            return Result()
        await self._lock_reconciler.reconcile_lock(storage)
        storage = self._caches.storages.get(key)
        if storage is not None and storage.metadata.deletion_timestamp is None:
            await self._reconcile_storage(storage)
        return Result()

    async def _reconcile_storage(self, storage: GPUStorage) -> None:
        """Take one step, and clean up the Job only after its outcome was written."""
        outcome = await self._reconcile_parts(storage)
        recorded = await self._status_writer.write(storage, outcome)
        if recorded is not None:
            await self._prepare_reconciler.clean_up_job(recorded)
        if outcome.retry_error is not None:
            raise ReconcileError(outcome.readiness.message) from outcome.retry_error

    async def _reconcile_parts(self, storage: GPUStorage) -> StorageReconcileOutcome:
        volume, volume_blocker = await self._volume_reconciler.reconcile_volume(storage)
        pvc, storage_class = self._volume_reconciler.own_pvc_and_class(storage)
        prepare, prepare_blocker = await self._prepare_reconciler.reconcile_prepare(
            storage, pvc, storage_class
        )
        accessor = await self._accessor_reconciler.reconcile_accessor(
            storage, accessor_wait_reason(prepare, pvc)
        )
        return StorageReconcileOutcome(
            pvc, volume, prepare, accessor, volume_blocker, prepare_blocker
        )


def accessor_wait_reason(prepare: PrepareStatus, pvc: PersistentVolumeClaim | None) -> str | None:
    """Return why the accessor must wait; None if it can start.

    It waits for the prepare, and until a volume exists, because the accessor must not choose its
    node.
    """
    if prepare.phase not in DONE_PHASES:
        return "the prepare has not succeeded yet"
    if pvc is None or not pvc.is_bound:
        return "the volume does not exist yet"
    return None
