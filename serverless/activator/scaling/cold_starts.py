"""How long invocations wait that no worker is there for, from their acceptance to their run."""

from contextlib import suppress

from prometheus_client import Histogram

from serverless.activator.scaling.plan import Scene
from serverless.activator.scaling.snapshot import Memory
from serverless.activator.scaling.status import ready
from serverless.activator.sweep.invocation_store import Records, record_in
from serverless.nats.errors import QueueError
from shared.invocation.record import Record
from shared.invocation.state import State


class ColdStarts:
    """Follows the first invocation of a function without a worker; its record has the times.

    A run may be over between two looks at the queue.
    """

    def __init__(self, records: Records, seconds: Histogram) -> None:
        self._records = records
        self._seconds = seconds

    async def follow(self, request_id: str, scene: Scene, memory: Memory) -> None:
        """Note who waits, or measure how long it has waited; what fails is for the next look."""
        with suppress(QueueError):
            if memory.cold is None and is_cold(scene):
                memory.cold = await self._records.first_queued(request_id)
            elif memory.cold is not None and (scene.load.running or not scene.load.queued):
                await self._measure(memory.cold, memory)

    async def _measure(self, key: str, memory: Memory) -> None:
        stored = await self._records.latest(key)
        record = None if stored is None else record_in(stored)
        if record is not None and record.state is State.QUEUED:
            return  # its message is taken, or is on its way back
        memory.cold = None
        if record is not None and is_first_run(record):
            self._seconds.observe((record.started_at - record.accepted_at) / 1000)


def is_cold(scene: Scene) -> bool:
    """Whether there is work and nobody who could do it."""
    return bool(scene.load.queued) and not scene.load.running and not ready(scene.staying)


def is_first_run(record: Record) -> bool:
    """Whether the record has kept when it ran first; a clock may be wrong."""
    return record.attempts == 1 and record.started_at >= record.accepted_at
