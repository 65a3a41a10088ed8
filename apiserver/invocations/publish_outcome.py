"""Final records whose outcome is not told yet."""

from apiserver.invocations.commands import Invocation
from apiserver.nats.port import Kept, Queue
from shared.invocation import transition
from shared.invocation.message import call_of
from shared.invocation.queue_names import record_key


class Settlement:
    """Tells outcomes before anything forgets them; the sweep does the same for those it finds."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    async def settle(self, invocation: Invocation, revision: int) -> Kept:
        """Tell the outcome, remove the message, and mark the record; RecordStaleError."""
        record = invocation.record
        if record.published:
            return Kept(record, revision)
        ids = invocation.request_id, invocation.invocation_id
        key, marked = record_key(*ids), transition.published(record)
        await self._queue.outcomes.tell(key, record)
        await self._queue.calls.withdraw(call_of(*ids, record))
        return Kept(marked, await self._queue.records.write(key, marked, revision))
