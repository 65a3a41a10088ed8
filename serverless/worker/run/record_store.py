"""The records of a function's invocations, read and changed by compare-and-set."""

import asyncio
import logging
from dataclasses import dataclass

import msgspec

from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Kept, Queue
from serverless.worker.jetstream_errors import NoRoomError, QueueError
from shared.invocation import record as codec
from shared.invocation.record import Record

log = logging.getLogger(__name__)


class UnreadableRecordError(Exception):
    """The bucket holds something that is no record."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A record and the revision that it has in the bucket."""

    key: str
    record: Record
    revision: int


class OvertakenError(Exception):
    """Somebody else has changed the record; `found` is what it is now."""

    def __init__(self, found: Stored | None) -> None:
        super().__init__("the record was changed by somebody else")
        self.found = found


class Records:
    """The bucket of records; a write is repeated until it is known what became of it."""

    def __init__(self, queue: Queue, pace: Pace) -> None:
        self._queue = queue
        self._pace = pace
        self._stream = f"KV_{queue.names.record_bucket}"

    async def read(self, key: str) -> Stored | None:
        """The record of a key; none if there is none."""
        kept = await self._queue.read(self._stream, self._queue.names.record_subject(key))
        return None if kept is None else _stored(key, kept)

    async def change(self, over: Stored, wanted: Record, *, must_be: bool = True) -> Stored:
        """Put `wanted` in the place of `over`, or raise OvertakenError.

        Where there is no room for it that is waited for, unless it need not be: NoRoomError.
        """
        tries = 0
        while True:
            try:
                return await self._write(over, wanted)
            except QueueError as error:
                found = await self._read_again(over.key)
                if found is None or found.revision > over.revision:
                    return _own(found, wanted)
                if isinstance(error, NoRoomError) and not must_be:
                    raise
                tries += 1
                log.warning("record_not_written", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._pace.again_in(tries))

    async def _write(self, over: Stored, wanted: Record) -> Stored:
        subject = self._queue.names.record_subject(over.key)
        revision = await self._queue.write(subject, codec.encode(wanted), over.revision)
        return Stored(over.key, wanted, revision)

    async def _read_again(self, key: str) -> Stored | None:
        tries = 0
        while True:
            try:
                return await self.read(key)
            except QueueError:
                tries += 1
                await asyncio.sleep(self._pace.again_in(tries))


def _own(found: Stored | None, wanted: Record) -> Stored:
    """What was found, if it is what we wrote without hearing of it."""
    if found is None or found.record != wanted:
        raise OvertakenError(found)
    return found


def _stored(key: str, kept: Kept) -> Stored:
    try:
        return Stored(key, codec.decode(kept.value), kept.revision)
    except msgspec.DecodeError as error:
        raise UnreadableRecordError(f"{key}: {error}") from error
