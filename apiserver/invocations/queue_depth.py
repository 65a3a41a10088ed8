"""How full the queue of a function is, at most a second ago."""

from typing import Final

from apiserver.clock import Clock
from apiserver.errors import QueueFullError
from apiserver.nats.port import CallQueue
from apiserver.single_flight import SingleFlightCache
from shared.v1alpha1.function import Function

QUEUE_CACHE_SECONDS: Final = 1.0


class QueueDepth:
    """Counts queued calls by function, once for all who ask within a second."""

    def __init__(self, call_queue: CallQueue, clock: Clock) -> None:
        self._call_queue = call_queue
        self._counts = SingleFlightCache[int](clock, QUEUE_CACHE_SECONDS)

    async def has_room(self, function: Function) -> bool:
        """Whether the function may have one more queued."""
        name = function.metadata.name
        queued = await self._counts.get(name, lambda: self._call_queue.count_pending(name))
        return queued < function.spec.max_queued


def queue_full_error(function: Function) -> QueueFullError:
    """What a caller is told whose invocation has no room."""
    name, most = function.metadata.name, function.spec.max_queued
    message = f"the function {name!r} has {most} queued invocations, which is its maxQueued"
    return QueueFullError(message, retry_after=1)
