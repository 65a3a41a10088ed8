"""Writing how a unit is, where that has changed."""

from controller.caches import Caches
from controller.gpuunit.status.events import announcement, ignored
from controller.gpuunit.status.outcome import Outcome
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.status.status import Published, next_status
from controller.gpuunit.status.worker_readiness import WorkerVerdict, worker_verdict
from controller.gpuunit.workload import Workload, observe
from controller.kinds import GPU_UNITS
from controller.namespaces import Namespaces
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
from controller.runtime.errors import ConflictError, NotFoundError
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.status.events import announce
from shared.k8s import merge_patch
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.reasons import UnitReason


class Report:
    """The status of units, and the Events that go with a change of it."""

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

    async def write(self, judged: GPUUnit, outcome: Outcome) -> bool:
        """Nothing, if the status says it all already, or the unit has become another meanwhile.

        What was found of one generation is not true of the next, which has its own turn.
        False if the unit was overtaken on the way.
        """
        key = key_of(judged)
        unit = self._caches.units.get(key)
        if unit is None or not is_same(unit, judged):
            return True
        known = unit.status
        published = outcome.published or Published(known.service_name, known.access_url)
        verdict = self._in_role(key, outcome.verdict)
        workload = observe(self._caches, unit)
        worker = self._worker(unit, verdict, workload)
        status = next_status(unit, verdict, worker, workload, published, self._clock.now())
        if status == known:
            return True
        is_written = await self._write(unit, status)
        if is_written:
            self._tell(unit, status)
        return is_written

    async def _write(self, unit: GPUUnit, status: GPUUnitStatus) -> bool:
        """Only the version keeps it from another unit of that name: for a status uids are moot."""
        seen = {"resourceVersion": unit.metadata.resource_version}
        body = {"metadata": seen, "status": merge_patch.between(unit.status, status)}
        try:
            await self._writer.patch(GPU_UNITS, key_of(unit), body, "status")
        except (ConflictError, NotFoundError):
            return False
        return True

    def _worker(self, unit: GPUUnit, verdict: Verdict, workload: Workload) -> WorkerVerdict | None:
        if unit.spec.serverless is None or self._namespaces.is_stock(key_of(unit)):
            return None
        function = self._caches.function_of(unit)
        return worker_verdict(unit.spec.serverless, verdict, workload, function)

    def _in_role(self, key: ObjectKey, verdict: Verdict) -> Verdict:
        """Stock has its own word for being on its way."""
        if verdict.reason is UnitReason.UNIT_PROGRESSING and self._namespaces.is_stock(key):
            return Verdict(verdict.phase, UnitReason.STOCK_NOT_READY, verdict.message)
        return verdict

    def _tell(self, unit: GPUUnit, status: GPUUnitStatus) -> None:
        is_stock = self._namespaces.is_stock(key_of(unit))
        for news in (ignored(unit) if is_stock else None, announcement(unit.status, status)):
            if news is not None:
                announce(self._recorder, reference(GPU_UNITS, unit), news)


def is_same(unit: GPUUnit, judged: GPUUnit) -> bool:
    now, then = unit.metadata, judged.metadata
    return (now.uid, now.generation) == (then.uid, then.generation)
