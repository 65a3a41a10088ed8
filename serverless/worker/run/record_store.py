"""The records of a function's invocations, read and changed by compare-and-set."""

import asyncio
import logging
from dataclasses import dataclass

import msgspec

from serverless.nats.errors import QueueError, StreamLimitError
from serverless.nats.requests import JetStreamClient
from serverless.nats.stored_message import StoredMessage
from serverless.worker.intervals import Intervals
from shared.invocation import record as codec
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRecord

log = logging.getLogger(__name__)


class UnreadableRecordError(Exception):
    """The bucket holds something that is no record."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record and the revision that it has in the bucket."""

    key: str
    record: InvocationRecord
    revision: int


class RecordConflictError(Exception):
    """Somebody else has changed the record; `found` is what it is now."""

    def __init__(self, current: StoredRecord | None) -> None:
        super().__init__("the record was changed by somebody else")
        self.current = current


class RecordStore:
    """The bucket of records; a write is repeated until it is known what became of it."""

    def __init__(
        self, jetstream: JetStreamClient, queue_names: QueueNames, intervals: Intervals
    ) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names
        self._intervals = intervals
        self._stream = f"KV_{queue_names.record_bucket}"

    async def read(self, key: str) -> StoredRecord | None:
        """The record of a key; none if there is none."""
        kept = await self._jetstream.get_last_direct(
            self._stream, self._queue_names.record_subject(key)
        )
        return None if kept is None else _decode_stored_record(key, kept)

    async def update(
        self, previous: StoredRecord, record: InvocationRecord, *, wait_for_room: bool = True
    ) -> StoredRecord:
        """Put `wanted` in the place of `over`, or raise OvertakenError.

        Where there is no room for it that is waited for, unless it need not be: StreamLimitError.
        """
        tries = 0
        while True:
            try:
                return await self._write(previous, record)
            except QueueError as error:
                found = await self._read_again(previous.key)
                if found is None or found.revision > previous.revision:
                    return _written_or_conflict(found, record)
                if isinstance(error, StreamLimitError) and not wait_for_room:
                    raise
                tries += 1
                log.warning("record_not_written", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._intervals.retry_delay_seconds(tries))

    async def _write(self, previous: StoredRecord, record: InvocationRecord) -> StoredRecord:
        subject = self._queue_names.record_subject(previous.key)
        revision = await self._jetstream.publish(
            subject, codec.encode_record(record), expected_sequence=previous.revision
        )
        return StoredRecord(previous.key, record, revision)

    async def _read_again(self, key: str) -> StoredRecord | None:
        tries = 0
        while True:
            try:
                return await self.read(key)
            except QueueError:
                tries += 1
                await asyncio.sleep(self._intervals.retry_delay_seconds(tries))


def _written_or_conflict(current: StoredRecord | None, record: InvocationRecord) -> StoredRecord:
    """What was found, if it is what we wrote without hearing of it."""
    if current is None or current.record != record:
        raise RecordConflictError(current)
    return current


def _decode_stored_record(key: str, message: StoredMessage) -> StoredRecord:
    try:
        return StoredRecord(key, codec.decode_record(message.data), message.sequence)
    except msgspec.DecodeError as error:
        raise UnreadableRecordError(f"{key}: {error}") from error
