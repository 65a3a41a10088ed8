"""Tests of the payload upload: it reads chunks; only large payloads go to the object store."""

import hashlib
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from apiserver.invocations.payload_upload import PayloadUploader, resize_chunks
from shared.invocation.limits import DEFAULT_INLINE_BYTES


class FakeBodyStore:
    """Body store in memory."""

    def __init__(self) -> None:
        self.stored: dict[str, list[bytes]] = {}

    async def put(self, function_name: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        self.stored[name] = [chunk async for chunk in chunks]
        return sum(map(len, self.stored[name]))

    def get(self, function_name: str, name: str) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def exists(self, function_name: str, name: str) -> bool:
        raise NotImplementedError

    async def delete(self, function_name: str, name: str) -> None:
        raise NotImplementedError


async def iter_pieces(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def function_exists() -> None:
    """Return without an error, which allows the payload to be kept."""


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 30))
async def test_resized_chunks_have_all_bytes_in_order(pieces: list[bytes], size: int) -> None:
    resized = [piece async for piece in resize_chunks(iter_pieces(pieces), size)]
    assert b"".join(resized) == b"".join(pieces)
    assert all(len(piece) == size for piece in resized[:-1])
    assert all(0 < len(piece) <= size for piece in resized[-1:])


async def test_a_payload_above_the_inline_limit_goes_to_the_object_store() -> None:
    bodies = FakeBodyStore()
    uploader = PayloadUploader(bodies, lambda: "mark")
    small = await uploader.receive(
        "fn", "name", iter_pieces([b"x" * 1000] * 262 + [b"x" * 144]), function_exists
    )
    assert (len(small.body.inline), small.body.object_name) == (DEFAULT_INLINE_BYTES, "")
    assert not bodies.stored
    large = await uploader.receive("fn", "name", iter_pieces([b"x" * 1000] * 263), function_exists)
    assert (large.body.object_name, large.body.size) == ("name.mark", 263_000)
    assert b"".join(bodies.stored["name.mark"]) == b"x" * 263_000
    assert max(map(len, bodies.stored["name.mark"])) == 128 * 1024
    assert large.digest == hashlib.sha256(b"x" * 263_000).hexdigest()
