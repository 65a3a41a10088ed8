"""Bodies that are too large for a record: objects of the function's bucket.

The layout is that of NATS object stores, so that anybody's client can read them; a worker may
not administer streams, and those clients begin by asking about the stream.
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
    """The object is not there, or not whole."""


class BodyStore:
    """The bucket of one function's large bodies; `new_id` gives an id that was never used."""

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
        """The bytes of a body, wherever they are; those of an object are the caller's own."""
        return await self._read_object(body.object_name) if body.object_name else body.inline

    async def store_body(
        self, name: str, data: bytes | bytearray, max_inline_bytes: int
    ) -> InvocationBody:
        """Put a body where it belongs: here if it is small, in the object `name` otherwise."""
        if len(data) <= max_inline_bytes:
            return InvocationBody(inline=bytes(data), size=len(data))
        await self._write_object(name, data)
        return InvocationBody(object_name=name, size=len(data))

    async def _read_object(self, name: str) -> bytearray:
        found = await self._jetstream.get_last_direct(
            object_stream_name(self._bucket), object_info_subject(self._bucket, name)
        )
        if found is None:
            raise BodyLostError(name)
        info = _decode_info(found.data, name)
        data, place = bytearray(), 0
        for _ in range(info.chunks):
            chunk = await self._jetstream.get_next_direct(
                object_stream_name(self._bucket),
                object_chunk_subject(self._bucket, info.nuid),
                place + 1,
            )
            if chunk is None:
                raise BodyLostError(name)
            data += chunk.data
            place = chunk.sequence
        if info.deleted or _digest_of(data) != info.digest:
            raise BodyLostError(name)
        return data

    async def _write_object(self, name: str, data: bytes | bytearray) -> None:
        nuid, view = self._new_id(), memoryview(data)
        places = range(0, len(data), OBJECT_CHUNK_BYTES)
        for at in places:
            await self._jetstream.publish(
                object_chunk_subject(self._bucket, nuid), bytes(view[at : at + OBJECT_CHUNK_BYTES])
            )
        info = ObjectInfo(
            name=name,
            bucket=self._bucket,
            nuid=nuid,
            size=len(data),
            chunks=len(places),
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
