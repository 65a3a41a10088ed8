"""Lines are whole however the network cut them."""

from typing import cast

import aiohttp
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube.stream import LineStream


class Chunks:
    """A response that arrives in pieces."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = list(pieces)
        self.content = self

    async def readany(self) -> bytes:
        piece = self._pieces.pop(0) if self._pieces else b""
        if isinstance(piece, Exception):
            raise piece
        return piece


def a_stream(*pieces: bytes | Exception) -> LineStream:
    return LineStream("https://k8s", cast(aiohttp.ClientResponse, Chunks(*pieces)))


async def batches(stream: LineStream) -> list[list[bytes]]:
    found = []
    while (lines := await stream.read_lines()) is not None:
        found.append(lines)
    return found


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ((b"a\n",), [[b"a"]]),
        ((b"a\nb\n",), [[b"a", b"b"]]),
        ((b"a", b"b\nc", b"\n"), [[], [b"ab"], [b"c"]]),
        ((b"a\n\n\nb\n",), [[b"a", b"b"]]),
        ((b"a\nhalf a line",), [[b"a"]]),
        ((), []),
    ],
)
async def test_chunks_are_joined_to_lines(
    pieces: tuple[bytes, ...], lines: list[list[bytes]]
) -> None:
    assert await batches(a_stream(*pieces)) == lines


@pytest.mark.parametrize(
    "error", [aiohttp.ClientPayloadError("cut"), ConnectionResetError(), TimeoutError()]
)
async def test_a_stream_that_breaks_is_unreachable(error: Exception) -> None:
    stream = a_stream(b"a\n", error)
    assert await stream.read_lines() == [b"a"]
    with pytest.raises(kube_errors.UnreachableError):
        await stream.read_lines()
