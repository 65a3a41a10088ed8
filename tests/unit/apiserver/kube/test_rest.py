"""Tests of the REST client: headers, retries, and the lines of streamed responses."""

from typing import cast

import aiohttp
import pytest

from apiserver.kube import errors as kube_errors
from apiserver.kube.kubeconfig import RestConfig
from apiserver.kube.request import MERGE_PATCH_MEDIA_TYPE, KubeRequest, KubeResponse
from apiserver.kube.rest import LineStream, is_delay_seconds, request_headers, retry_pause


@pytest.mark.parametrize(
    ("response", "pause"),
    [
        (KubeResponse(429, b"", 0), 0),
        (KubeResponse(429, b"", 1), 1),
        (KubeResponse(429, b"", 2), None),
        (KubeResponse(429, b"", None), None),
        (KubeResponse(503, b"", 1), None),
        (KubeResponse(200, b"", 1), None),
    ],
)
def test_only_a_short_retry_after_of_a_429_is_a_retry_pause(
    response: KubeResponse, pause: int | None
) -> None:
    assert retry_pause(response) == pause


@pytest.mark.parametrize(
    ("text", "is_valid"),
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
def test_only_a_number_of_seconds_is_a_valid_retry_after(text: str, is_valid: bool) -> None:
    assert is_delay_seconds(text) is is_valid


def test_a_patch_request_has_its_content_type() -> None:
    request = KubeRequest("PATCH", "/x", {}, b"{}", MERGE_PATCH_MEDIA_TYPE)
    assert request_headers(RestConfig("https://k8s", "Bearer t"), request) == {
        "Accept": "application/json",
        "Authorization": "Bearer t",
        "Content-Type": "application/merge-patch+json",
    }


def test_a_get_request_without_credentials_has_only_the_accept_header() -> None:
    assert request_headers(RestConfig("http://k8s"), KubeRequest("GET", "/x")) == {
        "Accept": "application/json"
    }


class ChunkedResponse:
    """Response that arrives in chunks."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self._chunks = list(chunks)
        self.content = self

    async def readany(self) -> bytes:
        chunk = self._chunks.pop(0) if self._chunks else b""
        if isinstance(chunk, Exception):
            raise chunk
        return chunk


def new_stream(*chunks: bytes | Exception) -> LineStream:
    return LineStream("https://k8s", cast(aiohttp.ClientResponse, ChunkedResponse(*chunks)))


async def read_all(stream: LineStream) -> list[list[bytes]]:
    batches = []
    while (lines := await stream.read_lines()) is not None:
        batches.append(lines)
    return batches


@pytest.mark.parametrize(
    ("chunks", "batches"),
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
    chunks: tuple[bytes, ...], batches: list[list[bytes]]
) -> None:
    assert await read_all(new_stream(*chunks)) == batches


@pytest.mark.parametrize(
    "error", [aiohttp.ClientPayloadError("cut"), ConnectionResetError(), TimeoutError()]
)
async def test_a_broken_stream_raises_an_unreachable_error(error: Exception) -> None:
    stream = new_stream(b"a\n", error)
    assert await stream.read_lines() == [b"a"]
    with pytest.raises(kube_errors.UnreachableError):
        await stream.read_lines()
