"""The bucket of records, by compare-and-set on what was read."""

from collections.abc import Mapping
from typing import Final

import msgspec
from nats.aio.msg import Msg

from apiserver.nats.errors import NotInQueueError, QueueError
from apiserver.nats.port import Extent, Kept
from apiserver.nats.replies import Found, Stored, StreamInfo
from apiserver.nats.requests import Caller
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
        """What is kept under a key; only the leader can tell that there is nothing."""
        subject = self._names.record_subject(key)
        message = await self._caller.ask(
            f"$JS.API.DIRECT.GET.KV_{self._names.record_bucket}.{subject}"
        )
        headers = message.headers or {}
        if headers.get(STATUS) == NOT_FOUND:
            return await self._find_at_leader(subject)
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

    async def _find_at_leader(self, subject: str) -> Kept | None:
        stream = f"$JS.API.STREAM.MSG.GET.KV_{self._names.record_bucket}"
        wanted = msgspec.json.encode({"last_by_subj": subject})
        try:
            found = (await self._caller.answer(Found, stream, wanted)).message
        except NotInQueueError:
            return None
        if found is None:
            return None
        is_mark = OPERATION.encode() in found.hdrs
        return Kept(None if is_mark else decoded(found.data), found.seq)

    async def _publish(self, key: str, value: bytes, headers: Mapping[str, str]) -> int:
        subject = self._names.record_subject(key)
        return (await self._caller.answer(Stored, subject, value, headers)).seq


def kept_record(message: Msg) -> Record | None:
    """The record that a message of the bucket holds; None for the mark of one taken back."""
    return None if OPERATION in (message.headers or {}) else decoded(message.data)


def decoded(value: bytes) -> Record:
    """The record that a value is; QueueError."""
    try:
        return records.decode(value)
    except msgspec.DecodeError as error:
        raise QueueError(f"a record cannot be read: {error}") from None
