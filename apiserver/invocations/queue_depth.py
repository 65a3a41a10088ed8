"""How full the queue of a function is, at most a second ago."""

from typing import Final

from apiserver.clock import Clock
from apiserver.errors import QueueFullError
from apiserver.nats.port import CallQueue
from apiserver.single_flight import SingleFlight
from shared.v1alpha1.function import Function

SECONDS: Final = 1.0


class QueueDepth:
    """Counts queued calls by function, once for all who ask within a second."""

    def __init__(self, calls: CallQueue, clock: Clock) -> None:
        self._calls = calls
        self._counts = SingleFlight[int](clock, SECONDS)

    async def has_room(self, function: Function) -> bool:
        """Whether the function may have one more queued."""
        name = function.metadata.name
        queued = await self._counts.get(name, lambda: self._calls.queued(name))
        return queued < function.spec.max_queued


def full(function: Function) -> QueueFullError:
    """What a caller is told whose invocation has no room."""
    name, most = function.metadata.name, function.spec.max_queued
    message = f"the function {name!r} has {most} queued invocations, which is its maxQueued"
    return QueueFullError(message, retry_after=1)
