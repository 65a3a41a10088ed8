"""Receives payloads: small ones stay in memory, large ones go to the object store."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from apiserver.nats.port import BodyStore
from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.record import InvocationBody

CHUNK_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class Payload:
    """A completely received payload, and its digest."""

    body: InvocationBody
    digest: str


class PayloadUploader:
    """Receives payloads of any size in bounded memory."""

    def __init__(self, bodies: BodyStore, make_id: Callable[[], str]) -> None:
        self._bodies = bodies
        self._make_id = make_id

    async def receive(
        self,
        function_name: str,
        object_name: str,
        chunks: AsyncIterator[bytes],
        require_accepting: Callable[[], Awaitable[None]],
    ) -> Payload:
        """Receive the chunks; a large payload is stored under `object_name` and a unique suffix.

        Another payload for the same invocation must not replace the accepted one. Before storing,
        `require_accepting` raises if the function does not accept it any more.
        """
        digest = hashlib.sha256()
        pieces = hash_chunks(chunks, digest)
        head = await read_prefix(pieces, DEFAULT_INLINE_BYTES)
        if len(head) <= DEFAULT_INLINE_BYTES:
            return Payload(InvocationBody(inline=head, size=len(head)), digest.hexdigest())
        await require_accepting()
        name = f"{object_name}.{self._make_id()}"
        payload = resize_chunks(prepend_chunk(head, pieces), CHUNK_BYTES)
        size = await self._bodies.put(function_name, name, payload)
        return Payload(InvocationBody(object_name=name, size=size), digest.hexdigest())


async def hash_chunks(chunks: AsyncIterator[bytes], digest: Any) -> AsyncIterator[bytes]:
    """Yield the chunks, and update the digest with them."""
    async for chunk in chunks:
        digest.update(chunk)
        yield chunk


async def read_prefix(chunks: AsyncIterator[bytes], size: int) -> bytes:
    """Return all chunks, or the first ones that together exceed `size`."""
    buffer = bytearray()
    async for chunk in chunks:
        buffer += chunk
        if len(buffer) > size:
            break
    return bytes(buffer)


async def prepend_chunk(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield `head`, then the chunks."""
    yield head
    async for chunk in chunks:
        yield chunk


async def resize_chunks(chunks: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """Yield the bytes in chunks of `size`; only the last one is smaller."""
    buffer = bytearray()
    async for chunk in chunks:
        buffer += chunk
        while len(buffer) >= size:
            yield bytes(buffer[:size])
            del buffer[:size]
    if buffer:
        yield bytes(buffer)
