"""Records, calls and outcomes in NATS."""

from dataclasses import dataclass

import msgspec

from serverless.activator.sweep.decision import QueuedCall
from serverless.nats.errors import RevisionConflictError, StreamLimitError
from serverless.nats.requests import JetStreamClient
from serverless.nats.stored_message import StoredMessage
from shared.invocation import message, record, transition
from shared.invocation.final_messages import final_messages
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.message import DeadLetterMessage
from shared.invocation.queue_names import (
    QueueNames,
    parse_record_key,
    record_key,
    worker_report_key,
)
from shared.invocation.record import InvocationRecord
from shared.invocation.state import FailureClass


@dataclass(frozen=True, slots=True)
class BucketUsage:
    """The last sequence of the bucket, and how full it is."""

    last_sequence: int
    used_ratio: float


class InvocationStore:
    """The reads and writes of the sweep and the finalizer."""

    def __init__(self, jetstream: JetStreamClient, queue_names: QueueNames) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names

    def record_key_of(self, stored_message: StoredMessage) -> str:
        """Return the key of a stored record."""
        return stored_message.subject.removeprefix(self._queue_names.record_subject(""))

    async def read_page(
        self, key_filter: str, start_sequence: int, max_messages: int, max_bytes: int
    ) -> list[StoredMessage]:
        """Return records in the order of their last change, from `start_sequence` on."""
        subject = self._queue_names.record_subject(key_filter)
        return await self._jetstream.read_page(
            self._record_stream, subject, start_sequence, max_messages, max_bytes
        )

    async def get_record(self, key: str) -> StoredMessage | None:
        """Return the current record of a key, or None."""
        return await self._jetstream.get_last_message(
            self._record_stream, self._queue_names.record_subject(key)
        )

    async def get_usage(self) -> BucketUsage:
        """Return how full the bucket of records is."""
        info = await self._jetstream.call_api(f"STREAM.INFO.{self._record_stream}")
        state, max_bytes = info["state"], info["config"]["max_bytes"]
        return BucketUsage(state["last_seq"], state["bytes"] / max_bytes if max_bytes > 0 else 0.0)

    async def queued_invocation_ids(self, function_name: str) -> set[str]:
        """Return the invocations of a function that have a message, running or not."""
        invocation_ids, stream = set[str](), self._queue_names.invocations_stream
        subjects = self._queue_names.call_filter(function_name)
        while True:
            body = {"subjects_filter": subjects, "offset": len(invocation_ids)}
            info = await self._jetstream.call_api(f"STREAM.INFO.{stream}", body)
            page = info["state"].get("subjects") or {}
            invocation_ids |= {subject.rpartition(".")[2] for subject in page}
            if not page or len(invocation_ids) >= info.get("total", 0):
                return invocation_ids

    async def oldest_queued_key(self, function_name: str) -> str | None:
        """Return the record key of the oldest message of a function, or None."""
        stream = self._queue_names.invocations_stream
        subjects = self._queue_names.call_filter(function_name)
        oldest = await self._jetstream.get_first_message(stream, subjects)
        return record_key(function_name, oldest.subject.rpartition(".")[2]) if oldest else None

    async def dead_letter_calls(self, function_name: str) -> None:
        """Move the remaining messages of a function to the dead letters."""
        stream = self._queue_names.invocations_stream
        subjects = self._queue_names.call_filter(function_name)
        while (stored := await self._jetstream.get_first_message(stream, subjects)) is not None:
            letter = DeadLetterMessage(
                reason="the function was deleted, and there was no record of this message",
                failure_class=FailureClass.FUNCTION_DELETED,
                call=try_decode_call(stored),
                # A dead letter is larger than its message, and must still fit into one.
                original=stored.data[:DEFAULT_INLINE_BYTES],
                at=stored.stored_at,
            )
            subject = self._queue_names.dead_letter_subject(function_name)
            await self._jetstream.publish(subject, message.encode_message(letter))
            await self._jetstream.delete_message(stream, stored.sequence)

    async def count_dead_letters(self) -> dict[str, int]:
        """Return the number of dead letters by function."""
        body = {"subjects_filter": self._queue_names.dead_letter_subject("*")}
        info = await self._jetstream.call_api(
            f"STREAM.INFO.{self._queue_names.dead_letter_stream}", body
        )
        page = info["state"].get("subjects") or {}
        return {subject.rpartition(".")[2]: count for subject, count in page.items()}

    async def get_queued_call(self, key: str) -> QueuedCall | None:
        """Return the message of an invocation, running or not, or None."""
        subject = self._queue_names.call_subject(*parse_record_key(key))
        stored = await self._jetstream.get_last_message(
            self._queue_names.invocations_stream, subject
        )
        return None if stored is None else QueuedCall(stored.sequence, try_decode_call(stored))

    async def is_worker_alive(self, key: str, worker: str) -> bool:
        """Whether the worker has reported lately; a report lives for 30 seconds."""
        if not worker:
            return False
        bucket = self._queue_names.worker_bucket
        subject = f"$KV.{bucket}.{worker_report_key(parse_record_key(key)[0], worker)}"
        report = await self._jetstream.get_last_message(f"KV_{bucket}", subject)
        return report is not None and not report.is_deletion

    async def update_record(self, key: str, updated: InvocationRecord, revision: int) -> int | None:
        """Write a record; return its revision, or None after a conflict."""
        subject = self._queue_names.record_subject(key)
        try:
            return await self._jetstream.publish(
                subject, record.encode_record(updated), expected_sequence=revision
            )
        except RevisionConflictError:
            return None

    async def publish_outcome(self, key: str, final: InvocationRecord) -> None:
        """Publish the outcome and the dead letter if it is one; duplicates are dropped."""
        for final_message in final_messages(self._queue_names, key, final):
            await self._jetstream.publish(
                final_message.subject, final_message.data, message_id=final_message.message_id
            )

    async def mark_published(self, key: str, final: InvocationRecord, revision: int) -> None:
        """Mark in the record that its outcome was published."""
        await self.update_record(key, transition.published(final), revision)

    async def notify_cancelled(self, key: str) -> None:
        """Make the worker of a run read its record at once, if it is subscribed."""
        function_name, invocation_id = parse_record_key(key)
        subject = self._queue_names.cancellation_subject(function_name)
        await self._jetstream.send(subject, invocation_id.encode())

    async def delete_queued_call(self, queued_call: QueuedCall | None) -> None:
        """Delete a message of the work queue by its sequence."""
        if queued_call is not None:
            await self._jetstream.delete_message(
                self._queue_names.invocations_stream, queued_call.sequence
            )

    async def queue_call(self, key: str, requeued: InvocationRecord) -> None:
        """Publish the call; a subject stores one message, so it is never stored twice."""
        call = message.call_message(*parse_record_key(key), requeued)
        subject = self._queue_names.call_subject(*parse_record_key(key))
        try:
            await self._jetstream.publish(subject, message.encode_message(call))
        except StreamLimitError:
            return  # it exists, or the queue is full: the next sweep tries again

    @property
    def _record_stream(self) -> str:
        return f"KV_{self._queue_names.record_bucket}"


def try_decode_call(stored_message: StoredMessage) -> message.CallMessage | None:
    """Return the call of a message; None if it is unreadable."""
    try:
        return message.decode_call(stored_message.data)
    except msgspec.DecodeError:
        return None


def try_decode_record(stored_message: StoredMessage) -> InvocationRecord | None:
    """Return the record of a message; None if it is a deletion or unreadable."""
    if stored_message.is_deletion:
        return None
    try:
        return record.decode_record(stored_message.data)
    except msgspec.DecodeError:
        return None
