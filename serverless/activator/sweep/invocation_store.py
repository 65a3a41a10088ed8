"""Records, messages and outcomes at the queue, one request each."""

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
    """Where the last change of a record was written, and how much of the room is taken."""

    last_sequence: int
    used_ratio: float


class InvocationStore:
    """What the sweep and the finalizer read and write."""

    def __init__(self, jetstream: JetStreamClient, queue_names: QueueNames) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names

    def record_key_of(self, stored_message: StoredMessage) -> str:
        """The key of the record that a stored message is."""
        return stored_message.subject.removeprefix(self._queue_names.record_subject(""))

    async def read_page(
        self, key_filter: str, start_sequence: int, max_messages: int, max_bytes: int
    ) -> list[StoredMessage]:
        """Records in the order of their last change, from `sequence` on."""
        subject = self._queue_names.record_subject(key_filter)
        return await self._jetstream.read_page(
            self._record_stream, subject, start_sequence, max_messages, max_bytes
        )

    async def get_record(self, key: str) -> StoredMessage | None:
        """The record of a key as it is now."""
        return await self._jetstream.get_last_message(
            self._record_stream, self._queue_names.record_subject(key)
        )

    async def get_usage(self) -> BucketUsage:
        """How far the bucket of records goes now."""
        said = await self._jetstream.call_api(f"STREAM.INFO.{self._record_stream}")
        state, most = said["state"], said["config"]["max_bytes"]
        return BucketUsage(state["last_seq"], state["bytes"] / most if most > 0 else 0.0)

    async def queued_invocation_ids(self, function_name: str) -> set[str]:
        """The invocations of a function that have a message, running or not."""
        found, stream = set[str](), self._queue_names.invocations_stream
        subjects = self._queue_names.call_filter(function_name)
        while True:
            asked = {"subjects_filter": subjects, "offset": len(found)}
            said = await self._jetstream.call_api(f"STREAM.INFO.{stream}", asked)
            page = said["state"].get("subjects") or {}
            found |= {subject.rpartition(".")[2] for subject in page}
            if not page or len(found) >= said.get("total", 0):
                return found

    async def oldest_queued_key(self, function_name: str) -> str | None:
        """The key of the invocation of a function whose message is the oldest."""
        stream, subjects = (
            self._queue_names.invocations_stream,
            self._queue_names.call_filter(function_name),
        )
        found = await self._jetstream.get_first_message(stream, subjects)
        return record_key(function_name, found.subject.rpartition(".")[2]) if found else None

    async def dead_letter_calls(self, function_name: str) -> None:
        """Take what is left of a function out of the work queue; the dead letters tell of it."""
        stream, subjects = (
            self._queue_names.invocations_stream,
            self._queue_names.call_filter(function_name),
        )
        while (left := await self._jetstream.get_first_message(stream, subjects)) is not None:
            letter = DeadLetterMessage(
                reason="the function was deleted, and there was no record of this message",
                failure_class=FailureClass.FUNCTION_DELETED,
                call=try_decode_call(left),
                original=left.data[
                    :DEFAULT_INLINE_BYTES
                ],  # as a letter it grows, and must still be taken
                at=left.stored_at,
            )
            subject = self._queue_names.dead_letter_subject(function_name)
            await self._jetstream.publish(subject, message.encode_message(letter))
            await self._jetstream.delete_message(stream, left.sequence)

    async def count_dead_letters(self) -> dict[str, int]:
        """How many dead letters there are of each function."""
        asked = {"subjects_filter": self._queue_names.dead_letter_subject("*")}
        said = await self._jetstream.call_api(
            f"STREAM.INFO.{self._queue_names.dead_letter_stream}", asked
        )
        page = said["state"].get("subjects") or {}
        return {subject.rpartition(".")[2]: count for subject, count in page.items()}

    async def get_queued_call(self, key: str) -> QueuedCall | None:
        """What is queued for the invocation of `key`, running or not."""
        subject = self._queue_names.call_subject(*parse_record_key(key))
        found = await self._jetstream.get_last_message(
            self._queue_names.invocations_stream, subject
        )
        return None if found is None else QueuedCall(found.sequence, try_decode_call(found))

    async def is_worker_alive(self, key: str, worker: str) -> bool:
        """Whether the worker has reported lately; a report lives for 30 seconds."""
        if not worker:
            return False
        bucket = self._queue_names.worker_bucket
        subject = f"$KV.{bucket}.{worker_report_key(parse_record_key(key)[0], worker)}"
        found = await self._jetstream.get_last_message(f"KV_{bucket}", subject)
        return found is not None and not found.is_deletion

    async def update_record(self, key: str, updated: InvocationRecord, revision: int) -> int | None:
        """The new revision; None where somebody else was first."""
        subject = self._queue_names.record_subject(key)
        try:
            return await self._jetstream.publish(
                subject, record.encode_record(updated), expected_sequence=revision
            )
        except RevisionConflictError:
            return None

    async def publish_outcome(self, key: str, final: InvocationRecord) -> None:
        """Publish the outcome, and the dead letter if it is one; a second copy is dropped."""
        for each in final_messages(self._queue_names, key, final):
            await self._jetstream.publish(each.subject, each.data, message_id=each.message_id)

    async def mark_published(self, key: str, final: InvocationRecord, revision: int) -> None:
        """Note in the record that its outcome was told."""
        await self.update_record(key, transition.published(final), revision)

    async def notify_cancelled(self, key: str) -> None:
        """Have the worker of a run look at its record at once, if it listens."""
        request_id, invocation_id = parse_record_key(key)
        subject = self._queue_names.cancellation_subject(request_id)
        await self._jetstream.send(subject, invocation_id.encode())

    async def delete_queued_call(self, queued_call: QueuedCall | None) -> None:
        """Take a message out of the work queue, by its sequence."""
        if queued_call is not None:
            await self._jetstream.delete_message(
                self._queue_names.invocations_stream, queued_call.sequence
            )

    async def queue_call(self, key: str, requeued: InvocationRecord) -> None:
        """Publish the call; the subject takes one, so a second is no second."""
        call = message.call_message(*parse_record_key(key), requeued)
        subject = self._queue_names.call_subject(*parse_record_key(key))
        try:
            await self._jetstream.publish(subject, message.encode_message(call))
        except StreamLimitError:
            return  # it is there already, or the queue is full: the next sweep tries again

    @property
    def _record_stream(self) -> str:
        return f"KV_{self._queue_names.record_bucket}"


def try_decode_call(stored_message: StoredMessage) -> message.CallMessage | None:
    """The call in a message; None where it cannot be read."""
    try:
        return message.decode_call(stored_message.data)
    except msgspec.DecodeError:
        return None


def try_decode_record(stored_message: StoredMessage) -> InvocationRecord | None:
    """The record in a stored value; None where it was removed or cannot be read."""
    if stored_message.is_deletion:
        return None
    try:
        return record.decode_record(stored_message.data)
    except msgspec.DecodeError:
        return None
