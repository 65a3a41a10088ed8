"""How long a place that is kept for a pod may be expected before it counts as lost."""

from collections.abc import Iterable, Mapping
from typing import Final

from controller.gpuunit.scheduling.nomination import is_usable, place_of
from controller.runtime.clock import Clock
from controller.runtime.key import ObjectKey
from shared.k8s.node import Node
from shared.k8s.pod import Pod

PATIENCE: Final = 10.0  # seconds; the scheduler needs some milliseconds after the place is free


class Vacancies:
    """Since when nobody has been in the places that are kept, by unit."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[ObjectKey, tuple[tuple[str, str], float]] = {}

    def wait(
        self,
        key: ObjectKey,
        pending: Pod,
        holders: Iterable[Pod],
        nodes: Mapping[str, Node],
    ) -> float:
        """For how many seconds the place can still be expected without news; none if it is lost."""
        if not is_open(pending, nodes):
            self.forget(key)
            return 0.0
        if is_occupied(pending, holders):
            self.forget(key)
            return PATIENCE
        now, promise = self._clock.monotonic(), promised(pending)
        known, since = self._since.get(key, (promise, now))
        self._since[key] = (promise, since if known == promise else now)
        return max(0.0, self._since[key][1] + PATIENCE - now)

    def forget(self, key: ObjectKey) -> None:
        self._since.pop(key, None)


def is_open(pending: Pod, nodes: Mapping[str, Node]) -> bool:
    """Whether a place is kept for the pod on a node that can be used."""
    node = nodes.get(pending.status.nominated_node_name)
    return node is not None and is_usable(node)


def is_occupied(pending: Pod, holders: Iterable[Pod]) -> bool:
    """Whether the pod whose place it is to be is still there."""
    return any(place_of(holder) == pending.status.nominated_node_name for holder in holders)


def promised(pending: Pod) -> tuple[str, str]:
    """Which pod shall have a place on which node."""
    return pending.metadata.uid, pending.status.nominated_node_name
