"""Records, messages and outcomes at the queue, one request each."""

from dataclasses import dataclass

import msgspec

from serverless.activator.sweep.decision import Message
from serverless.nats.errors import OvertakenError, SubjectFullError
from serverless.nats.requests import JetStream
from serverless.nats.stored_message import Stored
from shared.invocation import message, record, transition
from shared.invocation.final_messages import announcements
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.message import DeadLetter
from shared.invocation.queue_names import QueueNames, ids_of, record_key, worker_key
from shared.invocation.record import Record
from shared.invocation.state import FailureClass


@dataclass(frozen=True, slots=True)
class Extent:
    """Where the last change of a record was written, and how much of the room is taken."""

    last_sequence: int
    fullness: float


class Records:
    """What the sweep and the finalizer read and write."""

    def __init__(self, jetstream: JetStream, names: QueueNames) -> None:
        self._jetstream = jetstream
        self._names = names

    def key_of(self, stored: Stored) -> str:
        """The key of the record that a stored message is."""
        return stored.subject.removeprefix(self._names.record_subject(""))

    async def page(self, keys: str, sequence: int, most: int, most_bytes: int) -> list[Stored]:
        """Records in the order of their last change, from `sequence` on."""
        subject = self._names.record_subject(keys)
        return await self._jetstream.page(self._stream, subject, sequence, most, most_bytes)

    async def latest(self, key: str) -> Stored | None:
        """The record of a key as it is now."""
        return await self._jetstream.last(self._stream, self._names.record_subject(key))

    async def extent(self) -> Extent:
        """How far the bucket of records goes now."""
        said = await self._jetstream.ask(f"STREAM.INFO.{self._stream}")
        state, most = said["state"], said["config"]["max_bytes"]
        return Extent(state["last_seq"], state["bytes"] / most if most > 0 else 0.0)

    async def queued(self, request_id: str) -> set[str]:
        """The invocations of a function that have a message, running or not."""
        found, stream = set[str](), self._names.invocations_stream
        subjects = self._names.calls_of(request_id)
        while True:
            asked = {"subjects_filter": subjects, "offset": len(found)}
            said = await self._jetstream.ask(f"STREAM.INFO.{stream}", asked)
            page = said["state"].get("subjects") or {}
            found |= {subject.rpartition(".")[2] for subject in page}
            if not page or len(found) >= said.get("total", 0):
                return found

    async def first_queued(self, request_id: str) -> str | None:
        """The key of the invocation of a function whose message is the oldest."""
        stream, subjects = self._names.invocations_stream, self._names.calls_of(request_id)
        found = await self._jetstream.first(stream, subjects)
        return record_key(request_id, found.subject.rpartition(".")[2]) if found else None

    async def bury(self, request_id: str) -> None:
        """Take what is left of a function out of the work queue; the dead letters tell of it."""
        stream, subjects = self._names.invocations_stream, self._names.calls_of(request_id)
        while (left := await self._jetstream.first(stream, subjects)) is not None:
            letter = DeadLetter(
                reason="the function was deleted, and there was no record of this message",
                failure_class=FailureClass.FUNCTION_DELETED,
                call=call_in(left),
                original=left.data[:INLINE_BYTES],  # as a letter it grows, and must still be taken
                at=left.at,
            )
            subject = self._names.dead_letter_subject(request_id)
            await self._jetstream.publish(subject, message.encode(letter))
            await self._jetstream.remove(stream, left.sequence)

    async def dead_letters(self) -> dict[str, int]:
        """How many dead letters there are of each function."""
        asked = {"subjects_filter": self._names.dead_letter_subject("*")}
        said = await self._jetstream.ask(f"STREAM.INFO.{self._names.dead_letter_stream}", asked)
        page = said["state"].get("subjects") or {}
        return {subject.rpartition(".")[2]: count for subject, count in page.items()}

    async def message(self, key: str) -> Message | None:
        """What is queued for the invocation of `key`, running or not."""
        subject = self._names.call_subject(*ids_of(key))
        found = await self._jetstream.last(self._names.invocations_stream, subject)
        return None if found is None else Message(found.sequence, call_in(found))

    async def is_worker_alive(self, key: str, worker: str) -> bool:
        """Whether the worker has reported lately; a report lives for 30 seconds."""
        if not worker:
            return False
        bucket = self._names.worker_bucket
        subject = f"$KV.{bucket}.{worker_key(ids_of(key)[0], worker)}"
        found = await self._jetstream.last(f"KV_{bucket}", subject)
        return found is not None and not found.is_removal

    async def write(self, key: str, new: Record, revision: int) -> int | None:
        """The new revision; None where somebody else was first."""
        subject = self._names.record_subject(key)
        try:
            return await self._jetstream.publish(subject, record.encode(new), expected=revision)
        except OvertakenError:
            return None

    async def tell(self, key: str, final: Record) -> None:
        """Publish the outcome, and the dead letter if it is one; a second copy is dropped."""
        for each in announcements(self._names, key, final):
            await self._jetstream.publish(each.subject, each.data, message_id=each.message_id)

    async def mark(self, key: str, final: Record, revision: int) -> None:
        """Note in the record that its outcome was told."""
        await self.write(key, transition.published(final), revision)

    async def nudge(self, key: str) -> None:
        """Have the worker of a run look at its record at once, if it listens."""
        request_id, invocation_id = ids_of(key)
        subject = self._names.nudge_subject(request_id)
        await self._jetstream.say(subject, invocation_id.encode())

    async def remove(self, found: Message | None) -> None:
        """Take a message out of the work queue, by its sequence."""
        if found is not None:
            await self._jetstream.remove(self._names.invocations_stream, found.sequence)

    async def queue(self, key: str, waiting: Record) -> None:
        """Publish the call; the subject takes one, so a second is no second."""
        call = message.call_of(*ids_of(key), waiting)
        subject = self._names.call_subject(*ids_of(key))
        try:
            await self._jetstream.publish(subject, message.encode(call))
        except SubjectFullError:
            return  # it is there already, or the queue is full: the next sweep tries again

    @property
    def _stream(self) -> str:
        return f"KV_{self._names.record_bucket}"


def call_in(stored: Stored) -> message.Call | None:
    """The call in a message; None where it cannot be read."""
    try:
        return message.decode_call(stored.data)
    except msgspec.DecodeError:
        return None


def record_in(stored: Stored) -> Record | None:
    """The record in a stored value; None where it was removed or cannot be read."""
    if stored.is_removal:
        return None
    try:
        return record.decode(stored.data)
    except msgspec.DecodeError:
        return None
