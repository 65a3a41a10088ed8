"""The priority classes of a work queue."""

from enum import IntEnum


class Priority(IntEnum):
    """A higher class is handed out before a lower one; none of them starves."""

    BACKLOG = -100  # controller-runtime's number for initial lists and resyncs
    CHANGED = 0
    CHILD = 100
