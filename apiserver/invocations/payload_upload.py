"""The payload of an invocation: small ones stay at hand, large ones go to the object store."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from apiserver.nats.port import BodyStore
from shared.invocation.limits import INLINE_BYTES
from shared.invocation.record import Body

CHUNK_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class Payload:
    """A body that was received to its end, and what makes it this one."""

    body: Body
    digest: str


class Intake:
    """Receives payloads in bounded memory, however large they are."""

    def __init__(self, bodies: BodyStore, make_id: Callable[[], str]) -> None:
        self._bodies = bodies
        self._make_id = make_id

    async def receive(
        self,
        request_id: str,
        object_name: str,
        chunks: AsyncIterator[bytes],
        require_place: Callable[[], Awaitable[None]],
    ) -> Payload:
        """The payload of `chunks`; a large one is put under `object_name` and a mark of its own.

        Another payload for the same invocation must not replace the accepted one. Before anything
        is put, `require_place` raises if there is no place for it any more.
        """
        digest = hashlib.sha256()
        pieces = hashed(chunks, digest)
        head = await beginning(pieces, INLINE_BYTES)
        if len(head) <= INLINE_BYTES:
            return Payload(Body(inline=head, size=len(head)), digest.hexdigest())
        await require_place()
        name, rest = f"{object_name}.{self._make_id()}", cut(joined(head, pieces), CHUNK_BYTES)
        size = await self._bodies.put(request_id, name, rest)
        return Payload(Body(object_name=name, size=size), digest.hexdigest())


async def hashed(chunks: AsyncIterator[bytes], digest: Any) -> AsyncIterator[bytes]:
    """The same chunks, which the digest has seen."""
    async for chunk in chunks:
        digest.update(chunk)
        yield chunk


async def beginning(chunks: AsyncIterator[bytes], size: int) -> bytes:
    """All of the chunks, or as many as are together larger than that size."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        if len(held) > size:
            break
    return bytes(held)


async def joined(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """`head`, then what follows."""
    yield head
    async for chunk in rest:
        yield chunk


async def cut(chunks: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """The same bytes in pieces of that size; only the last is smaller."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)
