"""Writer of a unit's status and of the Events that go with it."""

from controller.caches import Caches
from controller.gpuunit.observation import Observation
from controller.gpuunit.status.events import ignored_fields_event, status_event
from controller.gpuunit.status.outcome import UnitReconcileOutcome
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status import ServiceAddress, next_status
from controller.gpuunit.status.worker_readiness import WorkerReadiness, worker_readiness
from controller.kinds import GPU_UNITS
from controller.namespaces import Namespaces
from controller.runtime import (
    Clock,
    ConflictError,
    EventRecorder,
    NotFoundError,
    ObjectKey,
    Writer,
    key_of,
    object_reference,
)
from controller.status.events import record_event
from shared.k8s import merge_patch
from shared.k8s.meta import is_same_generation
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.reasons import UnitReason


class UnitStatusWriter:
    """Writer of statuses that have changed; it records Events about the change."""

    def __init__(
        self,
        caches: Caches,
        namespaces: Namespaces,
        writer: Writer,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._caches = caches
        self._namespaces = namespaces
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def write(self, observed: GPUUnit, outcome: UnitReconcileOutcome) -> bool:
        """Write the status if it changes; return False if the unit has changed on the server.

        A write is skipped if the generation has changed: the new generation has its own step.
        """
        key = key_of(observed)
        unit = self._caches.units.get(key)
        if unit is None or not is_same_generation(unit.metadata, observed.metadata):
            return True
        old = unit.status
        address = outcome.service_address or ServiceAddress(old.service_name, old.access_url)
        readiness = self._with_stock_reason(key, outcome.readiness)
        observation = outcome.observation
        worker = self._worker_readiness(readiness, observation)
        status = next_status(
            unit, readiness, worker, observation.workload, address, self._clock.now()
        )
        if status == old:
            return True
        is_written = await self._patch_status(unit, status)
        if is_written:
            self._record_events(unit, status)
        return is_written

    async def _patch_status(self, unit: GPUUnit, status: GPUUnitStatus) -> bool:
        """Patch with the resourceVersion: the server ignores the uid in a patch of a status."""
        version = {"resourceVersion": unit.metadata.resource_version}
        body = {"metadata": version, "status": merge_patch.create_merge_patch(unit.status, status)}
        try:
            await self._writer.patch(GPU_UNITS, key_of(unit), body, "status")
        except (ConflictError, NotFoundError):
            return False
        return True

    def _worker_readiness(
        self, readiness: UnitReadiness, observation: Observation
    ) -> WorkerReadiness | None:
        """Decide the readiness of the unit as a worker; None if the unit is no worker."""
        serverless = observation.unit.spec.serverless
        if serverless is None or self._namespaces.is_stock(key_of(observation.unit)):
            return None
        return worker_readiness(serverless, readiness, observation.workload, observation.function)

    def _with_stock_reason(self, key: ObjectKey, readiness: UnitReadiness) -> UnitReadiness:
        """Replace the reason of stock that is progressing by the reason for stock."""
        if readiness.reason is UnitReason.UNIT_PROGRESSING and self._namespaces.is_stock(key):
            return UnitReadiness(readiness.phase, UnitReason.STOCK_NOT_READY, readiness.message)
        return readiness

    def _record_events(self, unit: GPUUnit, status: GPUUnitStatus) -> None:
        is_stock = self._namespaces.is_stock(key_of(unit))
        for event in (
            ignored_fields_event(unit) if is_stock else None,
            status_event(unit.status, status),
        ):
            if event is not None:
                record_event(self._recorder, object_reference(GPU_UNITS, unit), event)
