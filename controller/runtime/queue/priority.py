"""How urgent a key is."""

from enum import IntEnum


class Priority(IntEnum):
    """The classes of work, in the order in which they go first when there is a choice."""

    BACKLOG = -100  # controller-runtime's number for initial lists and resyncs
    CHANGED = 0
    CHILD = 100
