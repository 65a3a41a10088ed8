"""Lists of a stream's messages, newest first, at a bounded cost.

A stream can only be read forwards. So the start sequence of the requested number of messages is
searched by counting, and the messages from there on are read.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace
from nats.aio.msg import Msg

from apiserver.nats.batches import BatchReader, sequence_of
from apiserver.nats.errors import QueueError
from apiserver.nats.port import HistoryPage, ListedDeadLetter, ListedRecord
from apiserver.nats.records import record_from_message
from apiserver.nats.replies import SUBJECT_HEADER, StreamInfo, StreamState
from apiserver.nats.requests import JetStreamRequests
from shared.invocation.message import DeadLetterMessage, decode_dead_letter
from shared.invocation.queue_names import QueueNames, parse_record_key, record_key
from shared.invocation.record import InvocationBody, InvocationRecord, InvocationRequest
from shared.invocation.state import FailureClass

BATCH_SIZE: Final = 64

T = TypeVar("T")

CountFrom = Callable[[int], Awaitable[int]]


class JetStreamHistory:
    """The InvocationHistory in JetStream."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._batches = BatchReader(requests)
        self._names = names

    async def list_records(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedRecord]:
        """Return records by their last change, without deleted and unreadable ones."""
        bucket = self._names.record_bucket
        subjects = self._names.record_subject(record_key(function_name or "*", "*"))
        records, next_before = await self._read_newest(
            f"KV_{bucket}", subjects, before, limit, self._listed_record
        )
        return HistoryPage(tuple(filter(None, records)), next_before)

    async def list_dead_letters(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedDeadLetter]:
        """Return dead letters by their arrival."""
        subjects = self._names.dead_letter_subject(function_name or "*")
        stream = self._names.dead_letter_stream
        dead_letters, next_before = await self._read_newest(
            stream, subjects, before, limit, listed_dead_letter
        )
        return HistoryPage(tuple(dead_letters), next_before)

    async def _read_newest(
        self,
        stream: str,
        subjects: str,
        before: int | None,
        limit: int,
        decode: Callable[[Msg], T],
    ) -> tuple[list[T], int | None]:
        """Return the last messages before a sequence, newest first, and the next `before`."""
        state = await self._get_stream_state(stream)
        end = state.last_seq + 1 if before is None else min(before, state.last_seq + 1)
        count_after_end = await self._batches.count(stream, subjects, end)

        async def count_from(sequence: int) -> int:
            return await self._batches.count(stream, subjects, sequence) - count_after_end

        first = await find_start_sequence(count_from, max(1, state.first_seq), end, limit)
        items = [
            decode(message)
            async for message in self._batches.iter_messages(stream, subjects, BATCH_SIZE, first)
            if sequence_of(message) < end
        ]
        is_end = await count_from(state.first_seq) <= len(items)
        return items[::-1], None if is_end else first

    async def _get_stream_state(self, stream: str) -> StreamState:
        return (await self._requests.request_as(StreamInfo, f"$JS.API.STREAM.INFO.{stream}")).state

    def _listed_record(self, message: Msg) -> ListedRecord | None:
        try:
            record = record_from_message(message)
        except QueueError:
            return None  # one unreadable record must not break the list
        if record is None:
            return None
        key = stored_subject(message).removeprefix(self._names.record_subject(""))
        return ListedRecord(*parse_record_key(key), without_bodies(record), sequence_of(message))


def without_bodies(record: InvocationRecord) -> InvocationRecord:
    """Return the record without the parts that can be large."""
    result = record.result and replace(record.result, body=without_inline(record.result.body))
    return replace(record, request=InvocationRequest(), result=result)


def without_inline(body: InvocationBody) -> InvocationBody:
    """Return the body without inline bytes, with its size and object name."""
    return replace(body, inline=b"")


async def find_start_sequence(
    count_from: CountFrom, first_sequence: int, end_sequence: int, limit: int
) -> int:
    """Return about the lowest sequence from which on at most `limit` messages are left."""
    start, step = end_sequence, limit
    while start > first_sequence:
        candidate = max(first_sequence, start - step)
        if await count_from(candidate) > limit:
            return await _bisect_start(count_from, candidate, start, limit)
        start, step = candidate, step * 4
    return first_sequence


async def _bisect_start(count_from: CountFrom, too_low: int, start: int, limit: int) -> int:
    """Bisect until at least half of `limit` messages are left from `start` on."""
    while start - too_low > 1:
        middle = (too_low + start) // 2
        count = await count_from(middle)
        if count > limit:
            too_low = middle
        else:
            start = middle
            if count * 2 >= limit:
                break
    return start


def listed_dead_letter(message: Msg) -> ListedDeadLetter:
    """Return the dead letter in a message; an unreadable message becomes its `original`."""
    function_name = stored_subject(message).rpartition(".")[2]
    try:
        dead_letter = decode_dead_letter(message.data)
    except msgspec.DecodeError:
        dead_letter = DeadLetterMessage(
            reason="the dead letter cannot be decoded",
            failure_class=FailureClass.UNREADABLE.value,
            original=message.data,
        )
    return ListedDeadLetter(function_name, dead_letter, sequence_of(message))


def stored_subject(message: Msg) -> str:
    """Return the subject under which the stream stores the message."""
    subject: str = (message.headers or {})[SUBJECT_HEADER]
    return subject
