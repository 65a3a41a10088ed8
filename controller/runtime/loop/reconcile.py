"""What a reconciler is, what it answers and how it fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from controller.runtime.key import ObjectKey
from controller.runtime.queue.priority import Priority

_reconcile_id: Final[ContextVar[str]] = ContextVar("reconcile_id", default="")


@dataclass(frozen=True, slots=True)
class Result:
    """Done; or with `requeue_after`, to be seen again in that many seconds.

    The next turn has the priority of this one, unless `priority` says otherwise.
    """

    requeue_after: float | None = None
    priority: Priority | None = None


class ReconcileError(Exception):
    """An expected failure of a reconcile: it is retried with back-off."""


class TerminalError(ReconcileError):
    """A failure that trying again cannot mend: the next change of the object is waited for."""


class ReconcileTimeoutError(ReconcileError):
    """The reconcile did not end within its deadline."""


class Reconciler(Protocol):
    """Brings one object to its desired state."""

    async def reconcile(self, key: ObjectKey) -> Result:
        """Look at the object as it is now and do what is missing; never told what changed."""
        ...


def reconcile_id() -> str:
    """The id of the reconcile that the caller is part of, or nothing."""
    return _reconcile_id.get()


@contextmanager
def reconcile_context(identifier: str) -> Iterator[None]:
    """Make `by` the `reconcile_id()` of the block and of the tasks it starts."""
    token = _reconcile_id.set(identifier)
    try:
        yield
    finally:
        _reconcile_id.reset(token)
