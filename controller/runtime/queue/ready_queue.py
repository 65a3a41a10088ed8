"""Keys that can be worked on now, and which of them is next."""

import itertools
from collections import Counter, deque
from typing import Final, Generic, TypeVar

from controller.runtime.queue.priority import Priority

K = TypeVar("K")

# Who goes first, turn by turn: mostly the urgent, but each class once in a round. A key that is the
# nth of its class is therefore taken within n rounds, whatever else becomes ready.
PRIORITY_ROUND: Final = (
    *(Priority.CHILD,) * 3,
    Priority.CHANGED,
    *(Priority.CHILD,) * 3,
    Priority.BACKLOG,
)


class LazyDeque(deque[K]):
    """Keys in order of arrival, of which the first has not left."""

    # A key that leaves from the middle is only counted, and dropped when it comes first: both are
    # cheap however long the line is. If it came back meanwhile it stands further behind.

    def __init__(self) -> None:
        super().__init__()
        self.removed: Counter[K] = Counter()

    def remove_later(self, key: K) -> None:
        """Take `key` out from wherever it stands."""
        self.removed[key] += 1
        self.drop_removed()

    def drop_removed(self) -> None:
        """Make the first key one that has not left."""
        while self and self[0] in self.removed:
            key = self.popleft()
            self.removed[key] -= 1
            if not self.removed[key]:
                del self.removed[key]


class ReadyQueue(Generic[K]):
    """Distinct keys, taken by priority and in order of arrival, with a turn for each class."""

    def __init__(self) -> None:
        self._by_priority = {
            priority: LazyDeque[K]() for priority in sorted(Priority, reverse=True)
        }
        self._rotation = itertools.cycle([self._starting_with(first) for first in PRIORITY_ROUND])

    def push(self, key: K, priority: Priority) -> None:
        """Put a key that is not here at the end of its class."""
        self._by_priority[priority].append(key)

    def move(self, key: K, old: Priority, new: Priority) -> None:
        """Put a key that is here at the end of another class."""
        self._by_priority[old].remove_later(key)
        self._by_priority[new].append(key)

    def pop(self) -> K | None:
        """Take the next key, if there is one."""
        for line in next(self._rotation):
            if line:
                key = line.popleft()
                if line.removed:
                    line.drop_removed()
                return key
        return None

    def __len__(self) -> int:
        return sum(len(line) - line.removed.total() for line in self._by_priority.values())

    def _starting_with(self, first: Priority) -> tuple[LazyDeque[K], ...]:
        others = [line for priority, line in self._by_priority.items() if priority != first]
        return (self._by_priority[first], *others)
