"""The reconciler interface: its result, its errors, and the id of a reconcile."""

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
    """Success; `requeue_after` adds the key again after that many seconds.

    The key keeps its priority, unless `priority` sets another one.
    """

    requeue_after: float | None = None
    priority: Priority | None = None


class ReconcileError(Exception):
    """An expected failure of a reconcile, which is retried with back-off."""


class TerminalError(ReconcileError):
    """A failure that is not retried: the next change of the object reconciles it again."""


class ReconcileTimeoutError(ReconcileError):
    """The reconcile exceeded its time limit."""


class Reconciler(Protocol):
    """Brings one object to its desired state."""

    async def reconcile(self, key: ObjectKey) -> Result:
        """Read the current state of the object and do what is missing."""
        ...


def reconcile_id() -> str:
    """Return the id of the current reconcile, or an empty string outside of one."""
    return _reconcile_id.get()


@contextmanager
def reconcile_context(identifier: str) -> Iterator[None]:
    """Set `reconcile_id()` for the block and the tasks that it starts."""
    token = _reconcile_id.set(identifier)
    try:
        yield
    finally:
        _reconcile_id.reset(token)
