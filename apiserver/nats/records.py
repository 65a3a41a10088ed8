"""Invocation records in their key-value bucket, written by compare-and-set."""

from collections.abc import Mapping
from typing import Final

import msgspec
from nats.aio.msg import Msg

from apiserver.nats.errors import QueueError, QueueItemNotFoundError
from apiserver.nats.port import RecordStorageUsage, StoredRecord
from apiserver.nats.replies import (
    KV_OPERATION_HEADER,
    NOT_FOUND_STATUS,
    SEQUENCE_HEADER,
    STATUS_HEADER,
    MessageGetReply,
    PublishAck,
    StreamInfo,
)
from apiserver.nats.requests import JetStreamRequests
from shared.invocation import record as records
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRecord

EXPECTED_SEQUENCE_HEADER: Final = "Nats-Expected-Last-Subject-Sequence"


class JetStreamRecordStore:
    """The RecordStore in JetStream."""

    def __init__(self, requests: JetStreamRequests, names: QueueNames) -> None:
        self._requests = requests
        self._names = names

    async def find(self, key: str) -> StoredRecord | None:
        """Return the record of a key, or None; only the stream leader knows that there is none."""
        subject = self._names.record_subject(key)
        message = await self._requests.request(
            f"$JS.API.DIRECT.GET.KV_{self._names.record_bucket}.{subject}"
        )
        headers = message.headers or {}
        if headers.get(STATUS_HEADER) == NOT_FOUND_STATUS:
            return await self._find_on_leader(subject)
        return StoredRecord(record_from_message(message), int(headers[SEQUENCE_HEADER]))

    async def put(self, key: str, record: InvocationRecord, revision: int = 0) -> int:
        """Write a record if its revision is still `revision`; return the new revision."""
        return await self._publish(
            key, records.encode_record(record), {EXPECTED_SEQUENCE_HEADER: str(revision)}
        )

    async def delete(self, key: str, revision: int) -> None:
        """Replace a record by a delete marker: the bucket allows no other deletion."""
        await self._publish(
            key, b"", {EXPECTED_SEQUENCE_HEADER: str(revision), KV_OPERATION_HEADER: "DEL"}
        )

    async def storage_usage(self) -> RecordStorageUsage:
        """Return how many bytes the records use."""
        subject = f"$JS.API.STREAM.INFO.KV_{self._names.record_bucket}"
        info = await self._requests.request_as(StreamInfo, subject)
        return RecordStorageUsage(info.state.bytes, max(0, info.config.max_bytes))

    async def _find_on_leader(self, subject: str) -> StoredRecord | None:
        stream = f"$JS.API.STREAM.MSG.GET.KV_{self._names.record_bucket}"
        request = msgspec.json.encode({"last_by_subj": subject})
        try:
            stored = (await self._requests.request_as(MessageGetReply, stream, request)).message
        except QueueItemNotFoundError:
            return None
        if stored is None:
            return None
        is_marker = KV_OPERATION_HEADER.encode() in stored.hdrs
        return StoredRecord(None if is_marker else decode_record(stored.data), stored.seq)

    async def _publish(self, key: str, value: bytes, headers: Mapping[str, str]) -> int:
        subject = self._names.record_subject(key)
        return (await self._requests.request_as(PublishAck, subject, value, headers)).seq


def record_from_message(message: Msg) -> InvocationRecord | None:
    """Return the record in a message of the bucket; None for a delete marker."""
    return None if KV_OPERATION_HEADER in (message.headers or {}) else decode_record(message.data)


def decode_record(value: bytes) -> InvocationRecord:
    """Decode a record; raises QueueError for an unreadable one."""
    try:
        return records.decode_record(value)
    except msgspec.DecodeError as error:
        raise QueueError(f"a record cannot be decoded: {error}") from None
