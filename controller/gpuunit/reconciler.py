"""GPUUnits: look at one, do what is missing, say how it is."""

from controller.caches import Caches
from controller.gpuunit.active import ActiveStory
from controller.gpuunit.announcement import announcement
from controller.gpuunit.outcome import Outcome
from controller.gpuunit.status import Published, next_status
from controller.gpuunit.stock import StockStory
from controller.gpuunit.verdict import Verdict
from controller.gpuunit.workload import observe
from controller.kinds import GPU_UNITS
from controller.namespaces import Namespaces
from controller.runtime.clock import Clock
from controller.runtime.event import reference
from controller.runtime.events import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.kind import key_of
from controller.runtime.reconcile import ReconcileError, Result
from controller.runtime.writer import Writer
from shared import merge_patch
from shared.reasons import EventReason, UnitReason
from shared.v1alpha1.gpuunit import GPUUnit


class GPUUnitReconciler:
    """One kind for both roles: the namespace says which."""

    def __init__(
        self,
        caches: Caches,
        namespaces: Namespaces,
        stock: StockStory,
        active: ActiveStory,
        writer: Writer,
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._caches = caches
        self._namespaces = namespaces
        self._stock = stock
        self._active = active
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def reconcile(self, key: ObjectKey) -> Result:
        unit = self._caches.units.get(key)
        if unit is None or unit.metadata.deletion_timestamp is not None:
            return Result()  # the garbage collector takes the children
        story = self._stock if self._namespaces.is_stock(key) else self._active
        outcome = await story.turn(unit)
        if outcome is None:
            return Result()  # our own write has asked for the next turn
        await self._report(key, outcome)
        if outcome.retry is not None:
            raise ReconcileError(outcome.verdict.message) from outcome.retry
        return Result()

    async def _report(self, key: ObjectKey, outcome: Outcome) -> None:
        unit = self._caches.units.get(key)
        if unit is None:
            return
        known = unit.status
        published = outcome.published or Published(known.service_name, known.access_url)
        workload = observe(self._caches, unit)
        verdict = self._in_role(key, outcome.verdict)
        status = next_status(unit, verdict, workload, published, self._clock.now())
        if status == known:
            return
        self._tell_ignored(unit)
        await self._writer.patch_status(GPU_UNITS, key_of(unit), merge_patch.between(known, status))
        news = announcement(known, status)
        if news is not None:
            tell = self._recorder.warning if news.is_warning else self._recorder.normal
            tell(reference(GPU_UNITS, unit), news.reason, news.message)

    def _in_role(self, key: ObjectKey, verdict: Verdict) -> Verdict:
        is_quiet = verdict.reason is UnitReason.UNIT_PROGRESSING
        if is_quiet and self._namespaces.is_stock(key):
            return Verdict(verdict.phase, UnitReason.STOCK_NOT_READY, verdict.message)
        return verdict

    def _tell_ignored(self, unit: GPUUnit) -> None:
        """Once a generation: a reservation runs nothing of the user's."""
        if not self._namespaces.is_stock(key_of(unit)):
            return
        spec = unit.spec
        given = {
            "image": spec.image,
            "template": spec.template,
            "access": spec.access,
            "storageMounts": spec.storage_mounts,
        }
        ignored = [name for name, value in given.items() if value]
        if ignored and unit.status.observed_generation != unit.metadata.generation:
            said = f"stock ignores {', '.join(ignored)}"
            self._recorder.warning(reference(GPU_UNITS, unit), EventReason.IGNORED, said)
