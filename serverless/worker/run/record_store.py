"""Reads and updates invocation records, by compare-and-set."""

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
    """The bucket holds an invalid record."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record and its revision in the bucket."""

    key: str
    record: InvocationRecord
    revision: int


class RecordConflictError(Exception):
    """Another process has changed the record; `current` is the record now, or None."""

    def __init__(self, current: StoredRecord | None) -> None:
        super().__init__("another process has changed the record")
        self.current = current


class RecordStore:
    """The bucket of records; a write is retried until its result is known."""

    def __init__(
        self, jetstream: JetStreamClient, queue_names: QueueNames, intervals: Intervals
    ) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names
        self._intervals = intervals
        self._stream = f"KV_{queue_names.record_bucket}"

    async def read(self, key: str) -> StoredRecord | None:
        """Return the record of a key, or None; raises UnreadableRecordError."""
        message = await self._jetstream.get_last_direct(
            self._stream, self._queue_names.record_subject(key)
        )
        return None if message is None else _decode_stored_record(key, message)

    async def update(
        self, previous: StoredRecord, record: InvocationRecord, *, wait_for_room: bool = True
    ) -> StoredRecord:
        """Replace `previous` by `record`; raises RecordConflictError.

        If the bucket is full, wait for room; without `wait_for_room` raise StreamLimitError.
        """
        tries = 0
        while True:
            try:
                return await self._write(previous, record)
            except QueueError as error:
                current = await self._read_again(previous.key)
                if current is None or current.revision > previous.revision:
                    return _written_or_conflict(current, record)
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
    """Return the current record if it is the one that we wrote; raise a conflict otherwise."""
    if current is None or current.record != record:
        raise RecordConflictError(current)
    return current


def _decode_stored_record(key: str, message: StoredMessage) -> StoredRecord:
    try:
        return StoredRecord(key, codec.decode_record(message.data), message.sequence)
    except msgspec.DecodeError as error:
        raise UnreadableRecordError(f"{key}: {error}") from error
