"""Who watches a work queue."""

from collections.abc import Hashable
from typing import Protocol

from controller.runtime.queue.priority import Priority


class QueueObserver(Protocol):
    """Is told what happens in a queue, while it happens."""

    def added(self, key: Hashable, priority: Priority) -> None:
        """The key was asked for, and had not been."""
        ...

    def priority_raised(self, old: Priority, new: Priority) -> None:
        """A key became more urgent before it was handed out."""
        ...

    def handed_out(self, key: Hashable, priority: Priority) -> None:
        """The key was handed out."""
        ...

    def finished(self, key: Hashable) -> None:
        """The key was given back."""
        ...

    def delayed(self) -> None:
        """A key was asked for at a later time."""
        ...
