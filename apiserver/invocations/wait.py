"""Waiting for an invocation to end, whoever ends it."""

import asyncio
from typing import Final

from apiserver.invocations.commands import Invocation
from apiserver.nats.errors import QueueError
from apiserver.nats.port import QueuePorts
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationRecord

REREAD_INTERVAL_SECONDS: Final = 5.0


class FinalRecordWaiter:
    """Reads the record at every hint, and now and then without one."""

    def __init__(self, queue: QueuePorts) -> None:
        self._queue = queue

    async def wait_final(self, invocation: Invocation, seconds: float) -> Invocation:
        """The invocation once it is final, or as it was last seen after `seconds`."""
        key = record_key(invocation.function_name, invocation.invocation_id)
        seen = invocation.record
        try:
            async with asyncio.timeout(seconds), self._queue.record_changes.subscribe(key) as hint:
                while not (seen := await self._read(key, seen)).is_final:
                    await hint.wait(REREAD_INTERVAL_SECONDS)
        except TimeoutError:
            pass
        return Invocation(invocation.function_name, invocation.invocation_id, seen)

    async def _read(self, key: str, last_record: InvocationRecord) -> InvocationRecord:
        """The record as it is; as it was seen while the queue does not answer."""
        try:
            kept = await self._queue.records.find(key)
        except QueueError:
            return last_record
        if (
            kept is None
            or kept.record is None
            or kept.record.function_uid != last_record.function_uid
        ):
            return last_record
        return kept.record
