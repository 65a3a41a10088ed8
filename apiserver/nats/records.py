"""The bucket of records, by compare-and-set on what was read."""

from collections.abc import Mapping
from typing import Final

import msgspec
from nats.aio.msg import Msg

from apiserver.nats.errors import QueueError, QueueItemNotFoundError
from apiserver.nats.port import RecordStorageUsage, StoredRecord
from apiserver.nats.replies import MessageGetReply, PublishAck, StreamInfo
from apiserver.nats.requests import JetStreamRequests
from shared.invocation import record as records
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRecord

EXPECTED_SEQUENCE_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"
KV_OPERATION_HEADER: Final = "KV-Operation"
SEQUENCE_HEADER: Final = "Nats-Sequence"
STATUS_HEADER: Final = "Status"
NOT_FOUND_STATUS: Final = "404"


class JetStreamRecordStore:
    """Implements the port RecordStore."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def find(self, key: str) -> StoredRecord | None:
        """What is kept under a key; only the leader can tell that there is nothing."""
        subject = self._names.record_subject(key)
        message = await self._requests.request(
            f"$JS.API.DIRECT.GET.KV_{self._names.record_bucket}.{subject}"
        )
        headers = message.headers or {}
        if headers.get(STATUS_HEADER) == NOT_FOUND_STATUS:
            return await self._find_on_leader(subject)
        return StoredRecord(record_from_message(message), int(headers[SEQUENCE_HEADER]))

    async def put(self, key: str, record: InvocationRecord, revision: int = 0) -> int:
        """Put a record in the place of that revision."""
        return await self._publish(
            key, records.encode_record(record), {EXPECTED_SEQUENCE_HEADER: str(revision)}
        )

    async def delete(self, key: str, revision: int) -> None:
        """Leave a mark in its place: the bucket lets nobody delete."""
        await self._publish(
            key, b"", {EXPECTED_SEQUENCE_HEADER: str(revision), KV_OPERATION_HEADER: "DEL"}
        )

    async def storage_usage(self) -> RecordStorageUsage:
        """How much room the records take."""
        subject = f"$JS.API.STREAM.INFO.KV_{self._names.record_bucket}"
        info = await self._requests.request_as(StreamInfo, subject)
        return RecordStorageUsage(info.state.bytes, max(0, info.config.max_bytes))

    async def _find_on_leader(self, subject: str) -> StoredRecord | None:
        stream = f"$JS.API.STREAM.MSG.GET.KV_{self._names.record_bucket}"
        wanted = msgspec.json.encode({"last_by_subj": subject})
        try:
            found = (await self._requests.request_as(MessageGetReply, stream, wanted)).message
        except QueueItemNotFoundError:
            return None
        if found is None:
            return None
        is_mark = KV_OPERATION_HEADER.encode() in found.hdrs
        return StoredRecord(None if is_mark else decode_record(found.data), found.seq)

    async def _publish(self, key: str, value: bytes, headers: Mapping[str, str]) -> int:
        subject = self._names.record_subject(key)
        return (await self._requests.request_as(PublishAck, subject, value, headers)).seq


def record_from_message(message: Msg) -> InvocationRecord | None:
    """The record that a message of the bucket holds; None for the mark of one taken back."""
    return None if KV_OPERATION_HEADER in (message.headers or {}) else decode_record(message.data)


def decode_record(value: bytes) -> InvocationRecord:
    """The record that a value is; QueueError."""
    try:
        return records.decode_record(value)
    except msgspec.DecodeError as error:
        raise QueueError(f"a record cannot be read: {error}") from None
