"""Timeout of a node nomination."""

from collections.abc import Iterable, Mapping
from typing import Final

from controller.gpuunit.scheduling.nomination import is_node_schedulable
from controller.gpuunit.workload import bound_or_nominated_node
from controller.runtime import Clock, ObjectKey
from shared.k8s.node import Node
from shared.k8s.pod import Pod

NOMINATION_TIMEOUT_SECONDS: Final = (
    10.0  # seconds; the scheduler needs some milliseconds after the node has free resources
)


class NominationTimeouts:
    """Times since which nominated nodes have been without their occupant, by unit."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._unoccupied_since: dict[ObjectKey, tuple[tuple[str, str], float]] = {}

    def remaining_seconds(
        self,
        key: ObjectKey,
        pending_pod: Pod,
        occupants: Iterable[Pod],
        nodes: Mapping[str, Node],
    ) -> float:
        """Return for how many seconds the pod can still expect its node; 0 if it is lost."""
        if not is_nomination_usable(pending_pod, nodes):
            self.forget(key)
            return 0.0
        if is_nominated_node_occupied(pending_pod, occupants):
            self.forget(key)
            return NOMINATION_TIMEOUT_SECONDS
        now, nomination = self._clock.monotonic(), nomination_key(pending_pod)
        recorded, since = self._unoccupied_since.get(key, (nomination, now))
        self._unoccupied_since[key] = (nomination, since if recorded == nomination else now)
        return max(0.0, self._unoccupied_since[key][1] + NOMINATION_TIMEOUT_SECONDS - now)

    def forget(self, key: ObjectKey) -> None:
        self._unoccupied_since.pop(key, None)


def is_nomination_usable(pending_pod: Pod, nodes: Mapping[str, Node]) -> bool:
    """Return whether the pod is nominated to a node that can be used."""
    node = nodes.get(pending_pod.status.nominated_node_name)
    return node is not None and is_node_schedulable(node)


def is_nominated_node_occupied(pending_pod: Pod, occupants: Iterable[Pod]) -> bool:
    """Return whether the pod that holds the nominated node is still there."""
    return any(
        bound_or_nominated_node(holder) == pending_pod.status.nominated_node_name
        for holder in occupants
    )


def nomination_key(pending_pod: Pod) -> tuple[str, str]:
    """Return the identity of a nomination: the pod's uid and the node."""
    return pending_pod.metadata.uid, pending_pod.status.nominated_node_name
