"""Bodies that are too large for a record: objects of the function's bucket.

The layout is that of NATS object stores, so that anybody's client can read them; a worker may
not administer streams, and those clients begin by asking about the stream.
"""

import base64
import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from serverless.worker.jetstream import WorkerJetStream
from shared.invocation.record import InvocationBody

CHUNK_BYTES: Final = 128 * 1024

_DIGEST_PREFIX: Final = "SHA-256="


class BodyLostError(Exception):
    """The object is not there, or not whole."""


class _ObjectOptions(msgspec.Struct, frozen=True):
    max_chunk_size: int = CHUNK_BYTES


class _ObjectInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    bucket: str
    nuid: str
    size: int
    chunks: int
    digest: str = ""
    mtime: str = "1970-01-01T00:00:00Z"
    deleted: bool = False
    options: _ObjectOptions = _ObjectOptions()


class BodyStore:
    """The bucket of one function's large bodies; `new_id` gives an id that was never used."""

    def __init__(
        self, jetstream: WorkerJetStream, function_name: str, new_id: Callable[[], str]
    ) -> None:
        self._jetstream = jetstream
        self._bucket = jetstream.queue_names.body_bucket_name(function_name)
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
        found = await self._jetstream.get_last_direct(self._stream, self._meta_subject(name))
        if found is None:
            raise BodyLostError(name)
        info = _decode_info(found.data, name)
        data, place = bytearray(), 0
        for _ in range(info.chunks):
            chunk = await self._jetstream.get_next_direct(
                self._stream, self._chunk_subject(info.nuid), place + 1
            )
            if chunk is None:
                raise BodyLostError(name)
            data += chunk.data
            place = chunk.sequence
        if info.deleted or _sha256_digest(data) != info.digest:
            raise BodyLostError(name)
        return data

    async def _write_object(self, name: str, data: bytes | bytearray) -> None:
        nuid, view = self._new_id(), memoryview(data)
        places = range(0, len(data), CHUNK_BYTES)
        for at in places:
            await self._jetstream.publish(
                self._chunk_subject(nuid), bytes(view[at : at + CHUNK_BYTES])
            )
        info = _ObjectInfo(
            name=name,
            bucket=self._bucket,
            nuid=nuid,
            size=len(data),
            chunks=len(places),
            digest=_sha256_digest(data),
        )
        await self._jetstream.publish_rollup(self._meta_subject(name), msgspec.json.encode(info))

    @property
    def _stream(self) -> str:
        return f"OBJ_{self._bucket}"

    def _meta_subject(self, name: str) -> str:
        return f"$O.{self._bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"

    def _chunk_subject(self, nuid: str) -> str:
        return f"$O.{self._bucket}.C.{nuid}"


def _decode_info(value: bytes, name: str) -> _ObjectInfo:
    try:
        return msgspec.json.decode(value, type=_ObjectInfo)
    except msgspec.DecodeError as error:
        raise BodyLostError(name) from error


def _sha256_digest(data: bytes | bytearray) -> str:
    return _DIGEST_PREFIX + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
