"""The bucket of records, by compare-and-set on what was read."""

from collections.abc import Mapping
from typing import Final

import msgspec
from nats.aio.msg import Msg

from apiserver.jetstream.answers import Stored, StreamInfo
from apiserver.jetstream.caller import Caller
from apiserver.queue_errors import QueueError
from apiserver.queue_gateway import Extent, Kept
from shared.invocation import record as records
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import Record

EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
OPERATION: Final = "KV-Operation"
SEQUENCE: Final = "Nats-Sequence"
STATUS: Final = "Status"
NOT_FOUND: Final = "404"


class RecordBucket:
    """Implements the port RecordStore."""

    def __init__(self, caller: Caller, names: QueueNames) -> None:
        self._caller = caller
        self._names = names

    async def find(self, key: str) -> Kept | None:
        """What is kept under a key."""
        subject = self._names.record_subject(key)
        message = await self._caller.ask(
            f"$JS.API.DIRECT.GET.KV_{self._names.record_bucket}.{subject}"
        )
        headers = message.headers or {}
        if headers.get(STATUS) == NOT_FOUND:
            return None
        return Kept(kept_record(message), int(headers[SEQUENCE]))

    async def write(self, key: str, record: Record, revision: int = 0) -> int:
        """Put a record in the place of that revision."""
        return await self._publish(key, records.encode(record), {EXPECTED: str(revision)})

    async def take_back(self, key: str, revision: int) -> None:
        """Leave a mark in its place: the bucket lets nobody delete."""
        await self._publish(key, b"", {EXPECTED: str(revision), OPERATION: "DEL"})

    async def extent(self) -> Extent:
        """How much room the records take."""
        subject = f"$JS.API.STREAM.INFO.KV_{self._names.record_bucket}"
        info = await self._caller.answer(StreamInfo, subject)
        return Extent(info.state.bytes, max(0, info.config.max_bytes))

    async def _publish(self, key: str, value: bytes, headers: Mapping[str, str]) -> int:
        subject = self._names.record_subject(key)
        return (await self._caller.answer(Stored, subject, value, headers)).seq


def kept_record(message: Msg) -> Record | None:
    """The record that a message of the bucket holds; None for the mark of one taken back."""
    if (message.headers or {}).get(OPERATION):
        return None
    try:
        return records.decode(message.data)
    except msgspec.DecodeError as error:
        raise QueueError(f"the record on {message.subject} cannot be read: {error}") from None
