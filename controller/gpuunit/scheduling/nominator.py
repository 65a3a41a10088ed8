"""Keeping the places that units hold for their pending pods."""

from controller.caches import Caches
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.handoff.handoff_check import source_of
from controller.gpuunit.scheduling.nomination import nomination, place_of
from controller.gpuunit.scheduling.nomination_timeout import Vacancies
from controller.gpuunit.scheduling.rollout import has_place
from controller.gpuunit.workload import Workload, observe
from controller.kinds import PODS
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from shared.k8s.pod import Pod
from shared.v1alpha1.gpuunit import GPUUnit


class PlaceKeeping:
    """Nominates pods, and knows whether their places can still be expected."""

    def __init__(
        self, caches: Caches, handoff: Handoff, vacancies: Vacancies, writer: Writer
    ) -> None:
        self._caches = caches
        self._handoff = handoff
        self._vacancies = vacancies
        self._writer = writer

    async def keep(self, unit: GPUUnit) -> None:
        """Nominate the pending pod to a place that the unit holds, before it is let go."""
        source, workload = source_of(unit), observe(self._caches, unit)
        claimed = () if source is None else self._handoff.holders(source)
        own = (*workload.holders, *workload.superseded)
        nodes = self._caches.nodes_named(map(place_of, (*claimed, *own)))
        chosen = nomination(workload.pending, claimed, own, nodes)
        if chosen is not None:
            await self._nominate(chosen.pod, chosen.node)
        if chosen is not None or has_place(workload):
            # Two pods that one place is kept for would keep each other out of it.
            for pod in workload.superseded:
                await self._nominate(pod, None)

    def wait(self, unit: GPUUnit, workload: Workload) -> float:
        """For how many seconds the place of the pending pod can still be expected."""
        source, pending = source_of(unit), workload.pending
        if pending is None:
            self._vacancies.forget(key_of(unit))
            return 0.0
        claimed = () if source is None else self._handoff.leaving(source)
        nodes = self._caches.nodes_named([place_of(pending)])
        return self._vacancies.wait(key_of(unit), pending, (*claimed, *workload.holders), nodes)

    async def _nominate(self, pod: Pod, node: str | None) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"nominatedNodeName": node}}
        await self._writer.patch(PODS, key_of(pod), body, "status")
