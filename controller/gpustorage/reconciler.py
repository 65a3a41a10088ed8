"""GPUStorages: look at one, do what is missing, say how it is."""

from controller.caches import Caches
from controller.gpustorage.accessor_reconciler import Browsing
from controller.gpustorage.locks.lock_reconciler import Mounts
from controller.gpustorage.prepare.prepare_reconciler import Preparation
from controller.gpustorage.prepare.state import DONE
from controller.gpustorage.status.outcome import Outcome
from controller.gpustorage.status.status_writer import Report
from controller.gpustorage.volume_reconciler import Volumes
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import ReconcileError, Result
from shared.k8s.pvc import VolumeClaim
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus


class GPUStorageReconciler:
    """A storage has a volume, is filled once, and is lent to one at a time."""

    def __init__(
        self,
        caches: Caches,
        mounts: Mounts,
        volumes: Volumes,
        preparation: Preparation,
        browsing: Browsing,
        report: Report,
    ) -> None:
        self._caches = caches
        self._mounts = mounts
        self._volumes = volumes
        self._preparation = preparation
        self._browsing = browsing
        self._report = report

    async def reconcile(self, key: ObjectKey) -> Result:
        """One turn of the storage's story; its own writes bring the next."""
        storage = self._caches.storages.get(key)
        if storage is None:
            await self._preparation.forget(key)
            return Result()  # the garbage collector takes the rest
        if storage.metadata.deletion_timestamp is not None:
            await self._preparation.stop(storage)
            await self._mounts.settle(storage)
            return Result()
        await self._mounts.settle(storage)
        storage = self._caches.storages.get(key)
        if storage is not None and storage.metadata.deletion_timestamp is None:
            await self._go_on(storage)
        return Result()

    async def _go_on(self, storage: GPUStorage) -> None:
        """A Job goes only after its outcome was written."""
        outcome = await self._turn(storage)
        recorded = await self._report.write(storage, outcome)
        if recorded is not None:
            await self._preparation.tidy(recorded)
        if outcome.retry is not None:
            raise ReconcileError(outcome.verdict.message) from outcome.retry

    async def _turn(self, storage: GPUStorage) -> Outcome:
        volume, claim_hitch = await self._volumes.keep(storage)
        claim, kind = self._volumes.found(storage)
        prepare, hitch = await self._preparation.keep(storage, claim, kind)
        browsed = await self._browsing.keep(storage, browsing_waits_for(prepare, claim))
        return Outcome(claim, volume, prepare, browsed, claim_hitch, hitch)


def browsing_waits_for(prepare: PrepareStatus, claim: VolumeClaim | None) -> str | None:
    """Nothing is browsed before it is filled; and browsing does not choose the volume's node."""
    if prepare.phase not in DONE:
        return "the volume is not filled yet"
    if claim is None or not claim.is_bound:
        return "there is no volume yet"
    return None
