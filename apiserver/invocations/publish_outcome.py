"""Final records whose outcome is not told yet."""

from apiserver.invocations.commands import Invocation
from apiserver.nats.port import QueuePorts, StoredRecord
from shared.invocation import transition
from shared.invocation.message import call_message
from shared.invocation.queue_names import record_key


class OutcomePublisher:
    """Tells outcomes before anything forgets them; the sweep does the same for those it finds."""

    def __init__(self, queue: QueuePorts) -> None:
        self._queue = queue

    async def publish(self, invocation: Invocation, revision: int) -> StoredRecord:
        """Tell the outcome, remove the message, and mark the record; RecordConflictError."""
        record = invocation.record
        if record.published:
            return StoredRecord(record, revision)
        ids = invocation.function_name, invocation.invocation_id
        key, marked = record_key(*ids), transition.published(record)
        await self._queue.outcomes.publish(key, record)
        await self._queue.calls.remove(call_message(*ids, record))
        return StoredRecord(marked, await self._queue.records.put(key, marked, revision))
