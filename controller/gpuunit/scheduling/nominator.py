"""Nominations of units: the nodes that are kept for their pending pods."""

from controller.gpuunit.observation import Observation
from controller.gpuunit.scheduling.nomination import choose_nomination
from controller.gpuunit.scheduling.nomination_timeout import NominationTimeouts
from controller.gpuunit.scheduling.rollout import has_node_or_nomination
from controller.kinds import PODS
from controller.runtime import Writer, key_of
from shared.k8s.pod import Pod


class Nominator:
    """Nominator of pods to nodes; it also knows how long a pod can still expect its node."""

    def __init__(self, nomination_timeouts: NominationTimeouts, writer: Writer) -> None:
        self._nomination_timeouts = nomination_timeouts
        self._writer = writer

    async def nominate(self, observation: Observation) -> None:
        """Nominate the pending pod to a node that the unit holds, before that node is freed."""
        workload = observation.workload
        own = (*workload.scheduled_previous_pods, *workload.nominated_previous_pods)
        chosen = choose_nomination(
            workload.pending_pod, observation.reserved_pods, own, observation.nodes
        )
        if chosen is not None:
            await self._patch_nomination(chosen.pod, chosen.node_name)
        if chosen is not None or has_node_or_nomination(workload):
            # Two pods that are nominated to one node would keep each other from it.
            for pod in workload.nominated_previous_pods:
                await self._patch_nomination(pod, None)

    def remaining_seconds(self, observation: Observation) -> float:
        """Return for how many seconds the pod can still expect its node; 0 if it is lost."""
        key, workload = key_of(observation.unit), observation.workload
        pending = workload.pending_pod
        if pending is None:
            self._nomination_timeouts.forget(key)
            return 0.0
        stock_pods = (*observation.reserved_pods, *observation.terminating_stock_pods)
        occupants = (*stock_pods, *workload.scheduled_previous_pods)
        return self._nomination_timeouts.remaining_seconds(
            key, pending, occupants, observation.nodes
        )

    async def _patch_nomination(self, pod: Pod, node_name: str | None) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"nominatedNodeName": node_name}}
        await self._writer.patch(PODS, key_of(pod), body, "status")
