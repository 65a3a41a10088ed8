"""Final records whose outcome is not told yet."""

from apiserver.invocation_commands import Invocation
from apiserver.queue_gateway import Kept, Queue
from shared.invocation import transition
from shared.invocation.message import DeadLetter, call_of, encode, outcome_of
from shared.invocation.queue_names import record_key
from shared.invocation.record import Record
from shared.invocation.state import State


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
        await self._queue.outcomes.tell(outcome_of(*ids, record))
        if record.state is State.DEAD_LETTERED:
            await self._queue.outcomes.bury(invocation.request_id, dead_letter(invocation))
        await self._queue.calls.withdraw(call_of(*ids, record))
        marked = transition.published(record)
        return Kept(marked, await self._queue.records.write(record_key(*ids), marked, revision))


def dead_letter(invocation: Invocation) -> DeadLetter:
    """What the stream of dead letters tells of a record that was given up on."""
    record: Record = invocation.record
    call = call_of(invocation.request_id, invocation.invocation_id, record)
    return DeadLetter(
        reason=record.result.error if record.result else "",
        failure_class=record.result.failure_class if record.result else "",
        attempts=record.attempts,
        call=call,
        original=encode(call),
        at=record.finished_at,
    )
