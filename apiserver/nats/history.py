"""Lists from the newest message of a stream to the oldest, at a bounded cost.

A stream is read forwards only. So the place is sought from which on the wanted number of
messages is left, by counting them, and the stretch from there is read.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace
from nats.aio.msg import Msg

from apiserver.nats.batches import BatchReader, sequence_of
from apiserver.nats.errors import QueueError
from apiserver.nats.port import Entry, Letter, Stretch
from apiserver.nats.records import kept_record
from apiserver.nats.replies import State, StreamInfo
from apiserver.nats.requests import Caller
from shared.invocation.message import DeadLetter, decode_dead_letter
from shared.invocation.queue_names import QueueNames, ids_of, record_key
from shared.invocation.record import Body, Record, Request
from shared.invocation.state import FailureClass

BATCH: Final = 64
SUBJECT: Final = "Nats-Subject"

T = TypeVar("T")

Count = Callable[[int], Awaitable[int]]


class StreamHistory:
    """Implements the port History."""

    def __init__(self, caller: Caller, names: QueueNames) -> None:
        self._caller = caller
        self._batches = BatchReader(caller)
        self._names = names

    async def records(self, request_id: str, below: int | None, most: int) -> Stretch[Entry]:
        """Records by their last change; what was taken back or is none is not there."""
        bucket = self._names.record_bucket
        subjects = self._names.record_subject(record_key(request_id or "*", "*"))
        found, left = await self._newest(f"KV_{bucket}", subjects, below, most, self._entry)
        return Stretch(tuple(each for each in found if each is not None), left)

    async def dead_letters(self, request_id: str, below: int | None, most: int) -> Stretch[Letter]:
        """Dead letters as they came."""
        subjects = self._names.dead_letter_subject(request_id or "*")
        stream = self._names.dead_letter_stream
        found, left = await self._newest(stream, subjects, below, most, letter)
        return Stretch(tuple(found), left)

    async def _newest(
        self,
        stream: str,
        subjects: str,
        below: int | None,
        most: int,
        decode: Callable[[Msg], T],
    ) -> tuple[list[T], int | None]:
        """The last messages below a place, the newest first, and where the rest is."""
        span = await self._span(stream)
        top = span.last_seq + 1 if below is None else min(below, span.last_seq + 1)
        above = await self._batches.count(stream, subjects, top)

        async def left_from(place: int) -> int:
            return await self._batches.count(stream, subjects, place) - above

        first = await lowest(left_from, max(1, span.first_seq), top, most)
        found = [
            decode(message)
            async for message in self._batches.all(stream, subjects, BATCH, first)
            if sequence_of(message) < top
        ]
        is_end = await left_from(span.first_seq) <= len(found)
        return found[::-1], None if is_end else first

    async def _span(self, stream: str) -> State:
        return (await self._caller.answer(StreamInfo, f"$JS.API.STREAM.INFO.{stream}")).state

    def _entry(self, message: Msg) -> Entry | None:
        try:
            record = kept_record(message)
        except QueueError:
            return None  # workers write records, and one of them must not spoil the lists of all
        if record is None:
            return None
        key = stored_subject(message).removeprefix(self._names.record_subject(""))
        return Entry(*ids_of(key), without_bodies(record), sequence_of(message))


def without_bodies(record: Record) -> Record:
    """The record without what may be large: there are many in a list."""
    result = record.result and replace(record.result, body=told(record.result.body))
    return replace(record, request=Request(), result=result)


def told(body: Body) -> Body:
    """How large a body is, and where if not in the record."""
    return replace(body, inline=b"")


async def lowest(left_from: Count, first: int, top: int, most: int) -> int:
    """About the lowest place from which at most `most` messages are left below `top`."""
    good, step = top, most
    while good > first:
        place = max(first, good - step)
        if await left_from(place) > most:
            return await _between(left_from, place, good, most)
        good, step = place, step * 4
    return first


async def _between(left_from: Count, bad: int, good: int, most: int) -> int:
    """Halve the stretch until what is left from `good` on is at least half of what is wanted."""
    while good - bad > 1:
        middle = (bad + good) // 2
        left = await left_from(middle)
        if left > most:
            bad = middle
        else:
            good = middle
            if left * 2 >= most:
                break
    return good


def letter(message: Msg) -> Letter:
    """A dead letter and its place."""
    request_id = stored_subject(message).rpartition(".")[2]
    try:
        found = decode_dead_letter(message.data)
    except msgspec.DecodeError:
        reason = "the dead letter itself cannot be read"
        unreadable = FailureClass.UNREADABLE.value
        found = DeadLetter(reason=reason, failure_class=unreadable, original=message.data)
    return Letter(request_id, found, sequence_of(message))


def stored_subject(message: Msg) -> str:
    """The subject under which the stream holds the message."""
    subject: str = (message.headers or {})[SUBJECT]
    return subject
