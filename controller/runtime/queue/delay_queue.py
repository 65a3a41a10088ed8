"""Keys that wait until a time."""

import heapq
import itertools
from typing import Final, Generic, NamedTuple, TypeVar

from controller.runtime.queue.priority import Priority

K = TypeVar("K")

# Cancelled entries stay in the heap until they are due, or exceed the live ones by this number.
MAX_STALE_ENTRIES: Final = 64


class DelayedKey(NamedTuple, Generic[K]):
    """The delay of one key; sorts by time, then by the order of the calls."""

    due_at: float
    order: int
    key: K
    priority: Priority


class DelayQueue(Generic[K]):
    """At most one delay per key, with its earliest time and its highest priority."""

    def __init__(self) -> None:
        self._by_key: dict[K, DelayedKey[K]] = {}
        self._heap: list[DelayedKey[K]] = []
        self._order = itertools.count()

    def put(self, key: K, due_at: float, priority: Priority) -> None:
        """Delay `key` until `due_at`, unless it is due earlier already."""
        if (known := self._by_key.get(key)) is not None:
            due_at, priority = min(known.due_at, due_at), max(known.priority, priority)
            if (due_at, priority) == (known.due_at, known.priority):
                return
        delay = DelayedKey(due_at, next(self._order), key, priority)
        self._by_key[key] = delay
        heapq.heappush(self._heap, delay)
        self._compact()

    def cancel(self, key: K) -> Priority | None:
        """Remove the delay of `key`; return its priority, or None without a delay."""
        delay = self._by_key.pop(key, None)
        return None if delay is None else delay.priority

    def pop_due(self, now: float) -> DelayedKey[K] | None:
        """Remove and return the first delay that is due; None if there is none."""
        first = self._first()
        if first is None or first.due_at > now:
            return None
        del self._by_key[first.key]
        return heapq.heappop(self._heap)

    def next_due_at(self) -> float | None:
        """Return when the first delay is due; None if there is none."""
        first = self._first()
        return None if first is None else first.due_at

    def clear(self) -> None:
        """Remove all delays."""
        self._by_key.clear()
        self._heap.clear()

    def __len__(self) -> int:
        return len(self._by_key)

    def _first(self) -> DelayedKey[K] | None:
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def _is_live(self, delay: DelayedKey[K]) -> bool:
        return self._by_key.get(delay.key) is delay

    def _compact(self) -> None:
        if len(self._heap) > 2 * len(self._by_key) + MAX_STALE_ENTRIES:
            self._heap = list(self._by_key.values())
            heapq.heapify(self._heap)
