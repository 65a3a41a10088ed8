"""Bodies that are too large for a record, as objects in the bucket of the function.

The layout is that of NATS object stores, so every NATS client can read them. Such clients first ask
for the configuration of the stream, for which workers have no rights, so none is used here.
"""

import hashlib
from collections.abc import Callable

import msgspec

from serverless.nats.requests import JetStreamClient
from shared.invocation.jetstream import (
    OBJECT_CHUNK_BYTES,
    ObjectInfo,
    format_object_digest,
    object_chunk_subject,
    object_info_subject,
    object_stream_name,
)
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationBody


class BodyLostError(Exception):
    """The object does not exist or is incomplete."""


class BodyStore:
    """The bucket of one function; `new_id` returns an unused id."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        function_name: str,
        new_id: Callable[[], str],
    ) -> None:
        self._jetstream = jetstream
        self._bucket = queue_names.body_bucket_name(function_name)
        self._new_id = new_id

    async def read_body(self, body: InvocationBody) -> bytes | bytearray:
        """Return the bytes of a body; the caller owns those of an object. Raises BodyLostError."""
        return await self._read_object(body.object_name) if body.object_name else body.inline

    async def store_body(
        self, name: str, data: bytes | bytearray, max_inline_bytes: int
    ) -> InvocationBody:
        """Return a body with its bytes inline if they are few, else write the object `name`."""
        if len(data) <= max_inline_bytes:
            return InvocationBody(inline=bytes(data), size=len(data))
        await self._write_object(name, data)
        return InvocationBody(object_name=name, size=len(data))

    async def _read_object(self, name: str) -> bytearray:
        info_message = await self._jetstream.get_last_direct(
            object_stream_name(self._bucket), object_info_subject(self._bucket, name)
        )
        if info_message is None:
            raise BodyLostError(name)
        info = _decode_info(info_message.data, name)
        data, last_sequence = bytearray(), 0
        for _ in range(info.chunks):
            chunk = await self._jetstream.get_next_direct(
                object_stream_name(self._bucket),
                object_chunk_subject(self._bucket, info.nuid),
                last_sequence + 1,
            )
            if chunk is None:
                raise BodyLostError(name)
            data += chunk.data
            last_sequence = chunk.sequence
        if info.deleted or _digest_of(data) != info.digest:
            raise BodyLostError(name)
        return data

    async def _write_object(self, name: str, data: bytes | bytearray) -> None:
        nuid, view = self._new_id(), memoryview(data)
        offsets = range(0, len(data), OBJECT_CHUNK_BYTES)
        for offset in offsets:
            await self._jetstream.publish(
                object_chunk_subject(self._bucket, nuid),
                bytes(view[offset : offset + OBJECT_CHUNK_BYTES]),
            )
        info = ObjectInfo(
            name=name,
            bucket=self._bucket,
            nuid=nuid,
            size=len(data),
            chunks=len(offsets),
            digest=_digest_of(data),
        )
        await self._jetstream.publish_rollup(
            object_info_subject(self._bucket, name), msgspec.json.encode(info)
        )


def _decode_info(value: bytes, name: str) -> ObjectInfo:
    try:
        return msgspec.json.decode(value, type=ObjectInfo)
    except msgspec.DecodeError as error:
        raise BodyLostError(name) from error


def _digest_of(data: bytes | bytearray) -> str:
    return format_object_digest(hashlib.sha256(data).digest())
