"""Tests of the REST client: headers, retries, and the lines of streamed responses."""

from typing import cast

import aiohttp
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube.kubeconfig import RestConfig
from apiserver.kube.request import MERGE_PATCH_MEDIA_TYPE, KubeRequest, KubeResponse
from apiserver.kube.rest import LineStream, is_delay_seconds, request_headers, retry_pause


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (KubeResponse(429, b"", 0), 0),
        (KubeResponse(429, b"", 1), 1),
        (KubeResponse(429, b"", 2), None),
        (KubeResponse(429, b"", None), None),
        (KubeResponse(503, b"", 1), None),
        (KubeResponse(200, b"", 1), None),
    ],
)
def test_a_busy_server_that_asks_for_a_short_pause_gets_it(
    answer: KubeResponse, pause: int | None
) -> None:
    assert retry_pause(answer) == pause


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0", True),
        ("120", True),
        ("", False),
        ("-1", False),
        ("1.5", False),
        ("²", False),
        ("Fri, 31 Dec 1999 23:59:59 GMT", False),
        ("9" * 5000, False),
    ],
)
def test_a_pause_is_a_number_of_seconds(text: str, is_one: bool) -> None:
    assert is_delay_seconds(text) is is_one


def test_a_patch_says_of_which_kind_it_is() -> None:
    call = KubeRequest("PATCH", "/x", {}, b"{}", MERGE_PATCH_MEDIA_TYPE)
    assert request_headers(RestConfig("https://k8s", "Bearer t"), call) == {
        "Accept": "application/json",
        "Authorization": "Bearer t",
        "Content-Type": "application/merge-patch+json",
    }


def test_a_call_without_body_or_credentials_sends_neither() -> None:
    assert request_headers(RestConfig("http://k8s"), KubeRequest("GET", "/x")) == {
        "Accept": "application/json"
    }


class Chunks:
    """Response that arrives in chunks."""

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
