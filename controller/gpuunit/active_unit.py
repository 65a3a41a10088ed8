"""The story of a user's unit: admitted, run, given its place, and reported."""

from controller.apply.applier import ChildApplier
from controller.apply.child import ChildAction, next_action
from controller.caches import Caches, deployment_pvc_names
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.handoff_check import HandoffDecision, is_admitted
from controller.gpuunit.resources import children
from controller.gpuunit.resources.service import service_url
from controller.gpuunit.scheduling.nominator import Nominator
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.source_stock import SourceStock, source_stock_of
from controller.gpuunit.status.outcome import UnitReconcileOutcome, outcome_of_failure
from controller.gpuunit.status.readiness import UnitReadiness, invalid_spec_readiness
from controller.gpuunit.status.status import ServiceAddress, active_unit_readiness
from controller.gpuunit.status.worker_readiness import missing_function_readiness
from controller.gpuunit.storage_mounts import StorageMounts
from controller.gpuunit.workload import observe_workload
from controller.kinds import SERVICES
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason


class ActiveUnitReconciler:
    """What is done for one user's unit in one turn."""

    def __init__(
        self,
        caches: Caches,
        settings: UnitSettings,
        handoff: Handoff,
        nominator: Nominator,
        storage_mounts: StorageMounts,
        applier: ChildApplier[GPUUnit],
    ) -> None:
        self._caches = caches
        self._settings = settings
        self._handoff = handoff
        self._nominator = nominator
        self._storage_mounts = storage_mounts
        self._applier = applier

    async def reconcile_unit(self, unit: GPUUnit) -> UnitReconcileOutcome | None:
        """None when the next turn has to begin anew: the unit has gone or become another."""
        source = source_stock_of(unit)
        if source is None or is_admitted(unit):
            return await self._reconcile_admitted(unit)
        entered = await self._admit(unit, source)
        return await self._reconcile_admitted(entered) if isinstance(entered, GPUUnit) else entered

    async def _reconcile_admitted(self, unit: GPUUnit) -> UnitReconcileOutcome:
        await self._nominator.nominate(unit)
        refused = invalid_spec_readiness(unit)
        if refused is not None:
            return UnitReconcileOutcome(refused)
        failed = await self._apply_children(unit)
        if failed is not None:
            return failed
        await self._consume_stock(unit)
        return self._observed_outcome(unit)

    async def _admit(
        self, unit: GPUUnit, source_stock: SourceStock
    ) -> GPUUnit | UnitReconcileOutcome | None:
        """The admitted unit, what to report instead, or nothing where there is no unit any more."""
        admission = await self._handoff.admit(unit, source_stock)
        if admission.decision is HandoffDecision.STRAY:
            await self._handoff.delete_stray(unit, admission.message)
            return None
        if admission.decision is HandoffDecision.STOCK_LOST:
            said = f"{admission.message}; delete the unit and ask for another"
            return UnitReconcileOutcome(UnitReadiness.failed(UnitReason.STOCK_LOST, said))
        return self._caches.units.get(key_of(unit))

    async def _apply_children(self, unit: GPUUnit) -> UnitReconcileOutcome | None:
        """The policy first, then the pods, for which the unit must have its storages to itself."""
        exposed = children.service_child(unit, self._caches)
        first = [children.network_policy_child(unit, self._caches, self._settings)]
        failed = await self._applier.apply(unit, [*first, *([exposed] if exposed else [])])
        if failed is not None:
            return outcome_of_failure(failed)
        if exposed is None:
            live = self._caches.services.get(children.child_key(unit))
            await self._applier.delete(unit, SERVICES, live)
        workload = observe_workload(self._caches, unit)
        pods = children.deployment_child(unit, self._caches, self._settings, workload)
        mounted = () if workload.deployment is None else deployment_pvc_names(workload.deployment)
        waiting = missing_function_readiness(unit, self._caches.function_of(unit))
        waiting = waiting or await self._storage_mounts.acquire_locks(unit, tuple(mounted))
        if waiting is not None and next_action(pods) is not ChildAction.NONE:
            return UnitReconcileOutcome(waiting)
        failed = await self._applier.apply(unit, [pods])
        return None if failed is None else outcome_of_failure(failed)

    async def _consume_stock(self, unit: GPUUnit) -> None:
        source = source_stock_of(unit)
        if source is not None:
            await self._handoff.consume_stock(unit, source, observe_workload(self._caches, unit))

    def _observed_outcome(self, unit: GPUUnit) -> UnitReconcileOutcome:
        """How the unit is; one that waits for a place is looked at again, should none come."""
        workload = observe_workload(self._caches, unit)
        wait = self._nominator.remaining_seconds(unit, workload)
        nodes = self._caches.nodes_of(workload.current_pods)
        verdict = active_unit_readiness(workload, nodes, awaits_nominated_node=wait > 0)
        return UnitReconcileOutcome(
            verdict, self._service_address(unit), requeue_after=wait or None
        )

    def _service_address(self, unit: GPUUnit) -> ServiceAddress:
        url = service_url(unit, self._settings)
        name = names.unit_child_name(unit.metadata.name) if url else ""
        return ServiceAddress(service_name=name, url=url)
