"""Step of a user's unit: admit it, apply its children, consume its stock, assess it."""

from controller.apply.applier import ChildApplier
from controller.apply.child import ChildAction, next_action
from controller.caches import Caches, deployment_pvc_names
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.handoff_check import HandoffDecision, is_admitted
from controller.gpuunit.observation import Observation, observe_unit
from controller.gpuunit.resources import children
from controller.gpuunit.resources.service import service_url
from controller.gpuunit.scheduling.nominator import Nominator
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.source_stock import source_stock_of
from controller.gpuunit.status.outcome import (
    UnitBlocker,
    UnitReconcileOutcome,
    blocker_of_failure,
    outcome_of_blocker,
)
from controller.gpuunit.status.readiness import UnitReadiness, invalid_spec_readiness
from controller.gpuunit.status.status import ServiceAddress, active_unit_readiness
from controller.gpuunit.status.worker_readiness import missing_function_readiness
from controller.gpuunit.storage_mounts import StorageMounts
from controller.kinds import SERVICES
from controller.runtime import key_of
from controller.status.blocker import Blocker
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason


class ActiveUnitReconciler:
    """Reconciler of one step of a user's unit; each decision is about a given observation."""

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
        """Take one step; return None if the unit is gone, because there is nothing to report."""
        admitted = await self._admit(unit)
        if admitted is None:
            return None
        if isinstance(admitted, Blocker):
            return outcome_of_blocker(self._observe(unit), admitted)
        blocker = await self._act(admitted)
        observation = self._observe(admitted)
        return (
            self._assess(observation)
            if blocker is None
            else outcome_of_blocker(observation, blocker)
        )

    async def _admit(self, unit: GPUUnit) -> GPUUnit | UnitBlocker | None:
        """Return the unit once its operation is completed with it; None if the unit is gone."""
        source = source_stock_of(unit)
        if source is None or is_admitted(unit):
            return unit
        admission = await self._handoff.admit(unit, source)
        if admission.decision is HandoffDecision.STRAY:
            await self._handoff.delete_stray(unit, admission.message)
            return None
        if admission.decision is HandoffDecision.STOCK_LOST:
            message = f"{admission.message}; delete the unit and create another"
            return Blocker(UnitReadiness.failed(UnitReason.STOCK_LOST, message))
        return self._caches.units.get(key_of(unit))

    async def _act(self, unit: GPUUnit) -> UnitBlocker | None:
        """Apply the unit's next changes; return None unless the unit is blocked."""
        await self._nominator.nominate(self._observe(unit))
        invalid = invalid_spec_readiness(unit)
        if invalid is not None:
            return Blocker(invalid)
        blocker = await self._apply_network(unit)
        blocker = blocker or await self._apply_deployment(self._observe(unit))
        if blocker is None:
            await self._handoff.consume_stock(self._observe(unit))
        return blocker

    async def _apply_network(self, unit: GPUUnit) -> UnitBlocker | None:
        """Apply the NetworkPolicy, which no pod may run without, and the Service if any."""
        service = children.service_child(unit, self._caches)
        policy = [children.network_policy_child(unit, self._caches, self._settings)]
        failed = await self._applier.apply(unit, [*policy, *([service] if service else [])])
        if failed is not None:
            return blocker_of_failure(failed)
        if service is None:
            live = self._caches.services.get(children.child_key(unit))
            await self._applier.delete(unit, SERVICES, live)
        return None

    async def _apply_deployment(self, observation: Observation) -> UnitBlocker | None:
        """Apply the Deployment once the unit holds the locks of its storages."""
        unit, deployment = observation.unit, observation.workload.deployment
        child = children.deployment_child(observation, self._caches, self._settings)
        mounted = () if deployment is None else tuple(deployment_pvc_names(deployment))
        waiting = missing_function_readiness(unit, observation.function)
        waiting = waiting or await self._storage_mounts.acquire_locks(observation, mounted)
        if waiting is not None and next_action(child) is not ChildAction.NONE:
            return Blocker(waiting)
        failed = await self._applier.apply(unit, [child])
        return None if failed is None else blocker_of_failure(failed)

    def _assess(self, observation: Observation) -> UnitReconcileOutcome:
        """Decide the readiness of the unit; reconcile again when a nomination times out."""
        wait = self._nominator.remaining_seconds(observation)
        readiness = active_unit_readiness(
            observation.workload, observation.nodes, awaits_nominated_node=wait > 0
        )
        address = self._service_address(observation.unit)
        return UnitReconcileOutcome(observation, readiness, address, requeue_after=wait or None)

    def _service_address(self, unit: GPUUnit) -> ServiceAddress:
        url = service_url(unit, self._settings)
        name = names.unit_child_name(unit.metadata.name) if url else ""
        return ServiceAddress(service_name=name, url=url)

    def _observe(self, unit: GPUUnit) -> Observation:
        return observe_unit(self._caches, self._settings.namespaces, unit)
