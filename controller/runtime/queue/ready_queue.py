"""Ready keys, and the order in which they are handed out."""

import itertools
from collections import Counter, deque
from typing import Final, Generic, TypeVar

from controller.runtime.queue.priority import Priority

K = TypeVar("K")

# The class that is first in each turn: mostly the highest, but each class once per round. So the
# nth key of a class is handed out within n rounds, independent of the other classes.
PRIORITY_ROUND: Final = (
    *(Priority.CHILD,) * 3,
    Priority.CHANGED,
    *(Priority.CHILD,) * 3,
    Priority.BACKLOG,
)


class LazyDeque(deque[K]):
    """Keys in order of arrival, with cheap removal from the middle; the first is never removed."""

    # A removed key is only counted, and dropped when it comes first: both are cheap at any length.
    # If it was added again meanwhile, that entry is further behind.

    def __init__(self) -> None:
        super().__init__()
        self.removed: Counter[K] = Counter()

    def remove_later(self, key: K) -> None:
        """Remove the first entry of `key`."""
        self.removed[key] += 1
        self.drop_removed()

    def drop_removed(self) -> None:
        """Drop removed keys from the front."""
        while self and self[0] in self.removed:
            key = self.popleft()
            self.removed[key] -= 1
            if not self.removed[key]:
                del self.removed[key]


class ReadyQueue(Generic[K]):
    """Distinct keys, by priority and then by arrival; each class has its turn."""

    def __init__(self) -> None:
        self._by_priority = {
            priority: LazyDeque[K]() for priority in sorted(Priority, reverse=True)
        }
        self._rotation = itertools.cycle([self._starting_with(first) for first in PRIORITY_ROUND])

    def push(self, key: K, priority: Priority) -> None:
        """Append a key that is not in the queue to its class."""
        self._by_priority[priority].append(key)

    def move(self, key: K, old: Priority, new: Priority) -> None:
        """Move a key to the end of another class."""
        self._by_priority[old].remove_later(key)
        self._by_priority[new].append(key)

    def pop(self) -> K | None:
        """Remove and return the next key; None if the queue is empty."""
        for keys in next(self._rotation):
            if keys:
                key = keys.popleft()
                if keys.removed:
                    keys.drop_removed()
                return key
        return None

    def __len__(self) -> int:
        return sum(len(keys) - keys.removed.total() for keys in self._by_priority.values())

    def _starting_with(self, first: Priority) -> tuple[LazyDeque[K], ...]:
        others = [keys for priority, keys in self._by_priority.items() if priority != first]
        return (self._by_priority[first], *others)
