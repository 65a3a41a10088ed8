"""Keys that can be worked on now, and which of them is next."""

import itertools
from collections import Counter, deque
from typing import Final, Generic, TypeVar

from controller.runtime.queue.priority import Priority

K = TypeVar("K")

# Who goes first, turn by turn: mostly the urgent, but each class once in a round. A key that is the
# nth of its class is therefore taken within n rounds, whatever else becomes ready.
ROUND: Final = (
    *(Priority.CHILD,) * 3,
    Priority.CHANGED,
    *(Priority.CHILD,) * 3,
    Priority.BACKLOG,
)


class Line(deque[K]):
    """Keys in order of arrival, of which the first has not left."""

    # A key that leaves from the middle is only counted, and dropped when it comes first: both are
    # cheap however long the line is. If it came back meanwhile it stands further behind.

    def __init__(self) -> None:
        super().__init__()
        self.left: Counter[K] = Counter()

    def leave(self, key: K) -> None:
        """Take `key` out from wherever it stands."""
        self.left[key] += 1
        self.drop_left()

    def drop_left(self) -> None:
        """Make the first key one that has not left."""
        while self and self[0] in self.left:
            key = self.popleft()
            self.left[key] -= 1
            if not self.left[key]:
                del self.left[key]


class ReadyKeys(Generic[K]):
    """Distinct keys, taken by priority and in order of arrival, with a turn for each class."""

    def __init__(self) -> None:
        self._lines = {priority: Line[K]() for priority in sorted(Priority, reverse=True)}
        self._turns = itertools.cycle([self._starting_with(first) for first in ROUND])

    def push(self, key: K, priority: Priority) -> None:
        """Put a key that is not here at the end of its class."""
        self._lines[priority].append(key)

    def move(self, key: K, old: Priority, new: Priority) -> None:
        """Put a key that is here at the end of another class."""
        self._lines[old].leave(key)
        self._lines[new].append(key)

    def pop(self) -> K | None:
        """Take the next key, if there is one."""
        for line in next(self._turns):
            if line:
                key = line.popleft()
                if line.left:
                    line.drop_left()
                return key
        return None

    def __len__(self) -> int:
        return sum(len(line) - line.left.total() for line in self._lines.values())

    def _starting_with(self, first: Priority) -> tuple[Line[K], ...]:
        others = [line for priority, line in self._lines.items() if priority != first]
        return (self._lines[first], *others)
