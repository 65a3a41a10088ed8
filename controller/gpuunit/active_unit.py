"""The story of a user's unit: admitted, run, given its place, and reported."""

from controller.apply.applier import Sync
from controller.apply.child import Step, next_step
from controller.caches import Caches, deployment_claims
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.handoff_check import Entry, Source, is_admitted, source_of
from controller.gpuunit.resources import children
from controller.gpuunit.resources.access import access_url
from controller.gpuunit.scheduling.nominator import PlaceKeeping
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status import validation
from controller.gpuunit.status.outcome import Outcome, outcome_of
from controller.gpuunit.status.readiness import Verdict
from controller.gpuunit.status.status import Published, active_verdict
from controller.gpuunit.status.worker_readiness import missing_function
from controller.gpuunit.storage_mounts import Storages
from controller.gpuunit.workload import observe
from controller.kinds import SERVICES
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason


class ActiveStory:
    """What is done for one user's unit in one turn."""

    def __init__(
        self,
        caches: Caches,
        settings: UnitSettings,
        handoff: Handoff,
        places: PlaceKeeping,
        storages: Storages,
        sync: Sync[GPUUnit],
    ) -> None:
        self._caches = caches
        self._settings = settings
        self._handoff = handoff
        self._places = places
        self._storages = storages
        self._sync = sync

    async def turn(self, unit: GPUUnit) -> Outcome | None:
        """None when the next turn has to begin anew: the unit has gone or become another."""
        source = source_of(unit)
        if source is None or is_admitted(unit):
            return await self._go_on(unit)
        entered = await self._enter(unit, source)
        return await self._go_on(entered) if isinstance(entered, GPUUnit) else entered

    async def _go_on(self, unit: GPUUnit) -> Outcome:
        await self._places.keep(unit)
        refused = validation.refusal(unit)
        if refused is not None:
            return Outcome(refused)
        failed = await self._run(unit)
        if failed is not None:
            return failed
        await self._take_over(unit)
        return self._seen(unit)

    async def _enter(self, unit: GPUUnit, source: Source) -> GPUUnit | Outcome | None:
        """The admitted unit, what to report instead, or nothing where there is no unit any more."""
        admission = await self._handoff.admit(unit, source)
        if admission.entry is Entry.STRAY:
            await self._handoff.delete_stray(unit, admission.why)
            return None
        if admission.entry is Entry.LOST:
            said = f"{admission.why}; delete the unit and ask for another"
            return Outcome(Verdict.failed(UnitReason.STOCK_LOST, said))
        return self._caches.units.get(key_of(unit))

    async def _run(self, unit: GPUUnit) -> Outcome | None:
        """The policy first, then the pods, for which the unit must have its storages to itself."""
        exposed = children.service_child(unit, self._caches)
        first = [children.policy_child(unit, self._caches, self._settings)]
        failed = await self._sync.ensure(unit, [*first, *([exposed] if exposed else [])])
        if failed is not None:
            return outcome_of(failed)
        if exposed is None:
            live = self._caches.services.get(children.child_key(unit))
            await self._sync.remove(unit, SERVICES, live)
        workload = observe(self._caches, unit)
        pods = children.deployment_child(unit, self._caches, self._settings, workload)
        mounted = () if workload.deployment is None else deployment_claims(workload.deployment)
        waiting = missing_function(unit, self._caches.function_of(unit))
        waiting = waiting or await self._storages.take(unit, tuple(mounted))
        if waiting is not None and next_step(pods) is not Step.NOTHING:
            return Outcome(waiting)
        failed = await self._sync.ensure(unit, [pods])
        return None if failed is None else outcome_of(failed)

    async def _take_over(self, unit: GPUUnit) -> None:
        source = source_of(unit)
        if source is not None:
            await self._handoff.consume(unit, source, observe(self._caches, unit))

    def _seen(self, unit: GPUUnit) -> Outcome:
        """How the unit is; one that waits for a place is looked at again, should none come."""
        workload = observe(self._caches, unit)
        wait = self._places.wait(unit, workload)
        nodes = self._caches.nodes_of(workload.current)
        verdict = active_verdict(workload, nodes, is_place_kept=wait > 0)
        return Outcome(verdict, self._published(unit), look_after=wait or None)

    def _published(self, unit: GPUUnit) -> Published:
        url = access_url(unit, self._settings)
        name = names.unit_child(unit.metadata.name) if url else ""
        return Published(service_name=name, access_url=url)
