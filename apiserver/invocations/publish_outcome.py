"""Publishes the outcome of a final record, and marks the record as published."""

from apiserver.invocations.commands import Invocation
from apiserver.nats.port import QueuePorts, StoredRecord
from shared.invocation import transition
from shared.invocation.message import call_message
from shared.invocation.queue_names import record_key


async def publish_outcome(queue: QueuePorts, invocation: Invocation, revision: int) -> StoredRecord:
    """Publish the outcome, remove the message and mark the record, unless it is already marked.

    Return the record with its revision; RecordConflictError. The sweep of the activator does the
    same for the records that it finds.
    """
    record = invocation.record
    if record.published:
        return StoredRecord(record, revision)
    ids = invocation.function_name, invocation.invocation_id
    key, marked = record_key(*ids), transition.published(record)
    await queue.outcomes.publish(key, record)
    await queue.calls.remove(call_message(*ids, record))
    return StoredRecord(marked, await queue.records.put(key, marked, revision))
