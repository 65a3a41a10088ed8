"""Keeping the places that units hold for their pending pods."""

from controller.caches import Caches
from controller.gpuunit.handoff.handoff import Handoff
from controller.gpuunit.scheduling.nomination import choose_nomination
from controller.gpuunit.scheduling.nomination_timeout import NominationTimeouts
from controller.gpuunit.scheduling.rollout import has_node_or_nomination
from controller.gpuunit.source_stock import source_stock_of
from controller.gpuunit.workload import Workload, bound_or_nominated_node, observe_workload
from controller.kinds import PODS
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from shared.k8s.pod import Pod
from shared.v1alpha1.gpuunit import GPUUnit


class Nominator:
    """Nominates pods, and knows whether their places can still be expected."""

    def __init__(
        self,
        caches: Caches,
        handoff: Handoff,
        nomination_timeouts: NominationTimeouts,
        writer: Writer,
    ) -> None:
        self._caches = caches
        self._handoff = handoff
        self._nomination_timeouts = nomination_timeouts
        self._writer = writer

    async def nominate(self, unit: GPUUnit) -> None:
        """Nominate the pending pod to a place that the unit holds, before it is let go."""
        source, workload = source_stock_of(unit), observe_workload(self._caches, unit)
        claimed = () if source is None else self._handoff.stock_pods(source)
        own = (*workload.scheduled_previous_pods, *workload.nominated_previous_pods)
        nodes = self._caches.nodes_by_name(map(bound_or_nominated_node, (*claimed, *own)))
        chosen = choose_nomination(workload.pending_pod, claimed, own, nodes)
        if chosen is not None:
            await self._patch_nomination(chosen.pod, chosen.node_name)
        if chosen is not None or has_node_or_nomination(workload):
            # Two pods that one place is kept for would keep each other out of it.
            for pod in workload.nominated_previous_pods:
                await self._patch_nomination(pod, None)

    def remaining_seconds(self, unit: GPUUnit, workload: Workload) -> float:
        """For how many seconds the place of the pending pod can still be expected."""
        source, pending = source_stock_of(unit), workload.pending_pod
        if pending is None:
            self._nomination_timeouts.forget(key_of(unit))
            return 0.0
        claimed = () if source is None else self._handoff.stock_and_terminating_pods(source)
        nodes = self._caches.nodes_by_name([bound_or_nominated_node(pending)])
        return self._nomination_timeouts.remaining_seconds(
            key_of(unit), pending, (*claimed, *workload.scheduled_previous_pods), nodes
        )

    async def _patch_nomination(self, pod: Pod, node_name: str | None) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"nominatedNodeName": node_name}}
        await self._writer.patch(PODS, key_of(pod), body, "status")
