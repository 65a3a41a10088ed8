"""Writer of a storage's status and of the Events that go with it."""

from controller.caches import Caches
from controller.gpustorage.status.events import status_events
from controller.gpustorage.status.outcome import StorageReconcileOutcome
from controller.gpustorage.status.status import next_status
from controller.kinds import GPU_STORAGES
from controller.runtime import Clock, EventRecorder, Writer, key_of, object_reference
from controller.status.events import record_event
from shared.k8s import merge_patch
from shared.k8s.meta import is_same_generation
from shared.v1alpha1.gpustorage import GPUStorage


class StorageStatusWriter:
    """Writer of statuses that have changed; it records Events about the change."""

    def __init__(
        self, caches: Caches, writer: Writer, recorder: EventRecorder, clock: Clock
    ) -> None:
        self._caches = caches
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def write(
        self, observed: GPUStorage, outcome: StorageReconcileOutcome
    ) -> GPUStorage | None:
        """Write the status if it changes; return the storage with it, None if it has changed.

        The patch has the resourceVersion: no newer outcome is overwritten.
        """
        storage = self._caches.storages.get(key_of(observed))
        if storage is None or not is_unchanged(storage, observed):
            return None
        status = next_status(storage, outcome, self._clock.now())
        changes = merge_patch.create_merge_patch(storage.status, status)
        if not changes:
            return storage
        meta = storage.metadata
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {"metadata": preconditions, "status": changes}
        written = await self._writer.patch(GPU_STORAGES, key_of(storage), body, "status")
        for event in status_events(storage.status, status):
            record_event(self._recorder, object_reference(GPU_STORAGES, storage), event)
        return written


def is_unchanged(storage: GPUStorage, observed: GPUStorage) -> bool:
    """Return whether an outcome is still about this storage, spec and prepare status."""
    return (
        is_same_generation(storage.metadata, observed.metadata)
        and storage.status.prepare == observed.status.prepare
    )
