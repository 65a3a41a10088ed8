"""Bodies that are too large for a record: objects of the function's bucket.

The layout is that of NATS object stores, so that anybody's client can read them; a worker may
not administer streams, and those clients begin by asking about the stream.
"""

import base64
import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from serverless.worker.jetstream import Queue
from shared.invocation.record import Body

CHUNK_BYTES: Final = 128 * 1024

_DIGEST: Final = "SHA-256="


class BodyLostError(Exception):
    """The object is not there, or not whole."""


class _Options(msgspec.Struct, frozen=True):
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
    options: _Options = _Options()


class Bodies:
    """The bucket of one function's large bodies; `new_id` gives an id that was never used."""

    def __init__(self, queue: Queue, request_id: str, new_id: Callable[[], str]) -> None:
        self._queue = queue
        self._bucket = queue.names.bodies_of(request_id)
        self._new_id = new_id

    async def fetch(self, body: Body) -> bytes | bytearray:
        """The bytes of a body, wherever they are; those of an object are the caller's own."""
        return await self._read(body.object_name) if body.object_name else body.inline

    async def keep(self, name: str, data: bytes | bytearray, inline_bytes: int) -> Body:
        """Put a body where it belongs: here if it is small, in the object `name` otherwise."""
        if len(data) <= inline_bytes:
            return Body(inline=bytes(data), size=len(data))
        await self._write(name, data)
        return Body(object_name=name, size=len(data))

    async def _read(self, name: str) -> bytearray:
        found = await self._queue.read(self._stream, self._meta(name))
        if found is None:
            raise BodyLostError(name)
        info = _info_in(found.value, name)
        data, place = bytearray(), 0
        for _ in range(info.chunks):
            chunk = await self._queue.read_next(self._stream, self._chunks(info.nuid), place + 1)
            if chunk is None:
                raise BodyLostError(name)
            data += chunk.value
            place = chunk.revision
        if info.deleted or _digest(data) != info.digest:
            raise BodyLostError(name)
        return data

    async def _write(self, name: str, data: bytes | bytearray) -> None:
        nuid, view = self._new_id(), memoryview(data)
        places = range(0, len(data), CHUNK_BYTES)
        for at in places:
            await self._queue.tell(self._chunks(nuid), bytes(view[at : at + CHUNK_BYTES]))
        info = _ObjectInfo(
            name=name,
            bucket=self._bucket,
            nuid=nuid,
            size=len(data),
            chunks=len(places),
            digest=_digest(data),
        )
        await self._queue.roll_up(self._meta(name), msgspec.json.encode(info))

    @property
    def _stream(self) -> str:
        return f"OBJ_{self._bucket}"

    def _meta(self, name: str) -> str:
        return f"$O.{self._bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"

    def _chunks(self, nuid: str) -> str:
        return f"$O.{self._bucket}.C.{nuid}"


def _info_in(value: bytes, name: str) -> _ObjectInfo:
    try:
        return msgspec.json.decode(value, type=_ObjectInfo)
    except msgspec.DecodeError as error:
        raise BodyLostError(name) from error


def _digest(data: bytes | bytearray) -> str:
    return _DIGEST + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
