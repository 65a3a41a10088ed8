"""Tests of the payload upload: it reads chunks; only large payloads go to the object store."""

import hashlib
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from apiserver.invocations.payload_upload import PayloadUploader, resize_chunks
from shared.invocation.limits import DEFAULT_INLINE_BYTES


class Bodies:
    """Body store in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, list[bytes]] = {}

    async def put(self, function_name: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        self.kept[name] = [chunk async for chunk in chunks]
        return sum(map(len, self.kept[name]))

    def get(self, function_name: str, name: str) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def exists(self, function_name: str, name: str) -> bool:
        raise NotImplementedError

    async def delete(self, function_name: str, name: str) -> None:
        raise NotImplementedError


async def given_as(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def there() -> None:
    """Return without an error, which allows the payload to be kept."""


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 30))
async def test_cutting_keeps_every_byte_in_its_order(pieces: list[bytes], size: int) -> None:
    made = [piece async for piece in resize_chunks(given_as(pieces), size)]
    assert b"".join(made) == b"".join(pieces)
    assert all(len(piece) == size for piece in made[:-1])
    assert all(0 < len(piece) <= size for piece in made[-1:])


async def test_a_payload_at_the_limit_is_at_hand_and_one_above_is_not() -> None:
    bodies = Bodies()
    intake = PayloadUploader(bodies, lambda: "mark")
    small = await intake.receive("fn", "name", given_as([b"x" * 1000] * 262 + [b"x" * 144]), there)
    assert (len(small.body.inline), small.body.object_name) == (DEFAULT_INLINE_BYTES, "")
    assert not bodies.kept
    large = await intake.receive("fn", "name", given_as([b"x" * 1000] * 263), there)
    assert (large.body.object_name, large.body.size) == ("name.mark", 263_000)
    assert b"".join(bodies.kept["name.mark"]) == b"x" * 263_000
    assert max(map(len, bodies.kept["name.mark"])) == 128 * 1024
    assert large.digest == hashlib.sha256(b"x" * 263_000).hexdigest()
