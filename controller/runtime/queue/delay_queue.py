"""Keys that wait for a time to come."""

import heapq
import itertools
from typing import Final, Generic, NamedTuple, TypeVar

from controller.runtime.queue.priority import Priority

K = TypeVar("K")

# Withdrawn entries stay in the heap until they come up or are this many more than the live ones.
SLACK: Final = 64


class Delay(NamedTuple, Generic[K]):
    """One key's wait; compares by time, then by the order of asking."""

    until: float
    order: int
    key: K
    priority: Priority


class Delays(Generic[K]):
    """At most one delay a key: the earliest time and the highest priority asked for."""

    def __init__(self) -> None:
        self._live: dict[K, Delay[K]] = {}
        self._heap: list[Delay[K]] = []
        self._order = itertools.count()

    def put(self, key: K, until: float, priority: Priority) -> None:
        """Make `key` wait until then, if it does not wait for an earlier time already."""
        if (known := self._live.get(key)) is not None:
            until, priority = min(known.until, until), max(known.priority, priority)
            if (until, priority) == (known.until, known.priority):
                return
        delay = Delay(until, next(self._order), key, priority)
        self._live[key] = delay
        heapq.heappush(self._heap, delay)
        self._sweep()

    def withdraw(self, key: K) -> Priority | None:
        """End the wait of `key`, if it waits, and tell its priority."""
        delay = self._live.pop(key, None)
        return None if delay is None else delay.priority

    def pop_due(self, now: float) -> Delay[K] | None:
        """Take the first delay that is over."""
        first = self._first()
        if first is None or first.until > now:
            return None
        del self._live[first.key]
        return heapq.heappop(self._heap)

    def next_at(self) -> float | None:
        """When the first delay will be over."""
        first = self._first()
        return None if first is None else first.until

    def clear(self) -> None:
        """Forget every delay."""
        self._live.clear()
        self._heap.clear()

    def __len__(self) -> int:
        return len(self._live)

    def _first(self) -> Delay[K] | None:
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def _is_live(self, delay: Delay[K]) -> bool:
        return self._live.get(delay.key) is delay

    def _sweep(self) -> None:
        if len(self._heap) > 2 * len(self._live) + SLACK:
            self._heap = list(self._live.values())
            heapq.heapify(self._heap)
