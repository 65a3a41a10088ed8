"""The framework at the other end of the unix socket."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from serverless.worker.framework.response import filter_headers, is_retryable, valid_content_type
from serverless.worker.framework.result import (
    FrameworkResponse,
    FrameworkResult,
    InvalidResponse,
    NoResponse,
    ResponseTooLarge,
)
from serverless.worker.memory_budget import AttemptMemory, MemoryReservation
from shared.invocation import framework_protocol
from shared.invocation.limits import DEFAULT_INLINE_BYTES, MAX_PAYLOAD_BYTES

HEALTH_TIMEOUT_SECONDS: Final = 5.0
CHUNK_BYTES: Final = 256 * 1024
KEEPALIVE_SECONDS: Final = 1.0  # servers close an idle connection after five and more

_BASE_URL: Final = "http://framework"
_INVOKE_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
_SKIPPED_AUTO_HEADERS: Final = ("Accept-Encoding", "User-Agent", "Content-Type")


@dataclass(frozen=True, slots=True)
class FrameworkEndpoint:
    """Where the framework listens, and on which paths."""

    socket_path: str = framework_protocol.SOCKET_PATH
    invoke_path: str = framework_protocol.INVOKE_PATH
    health_path: str = framework_protocol.HEALTH_PATH


class FrameworkClient:
    """Calls the framework; a connection is used again only at once.

    One that was kept for longer may be closed by the other side just when it is used, and nobody
    could tell that from a framework that has died of the invocation.
    """

    def __init__(self, session: aiohttp.ClientSession, endpoint: FrameworkEndpoint) -> None:
        self._session = session
        self._endpoint = endpoint

    async def is_healthy(self) -> bool:
        """Whether it says that it can take invocations."""
        url = f"{_BASE_URL}{self._endpoint.health_path}"
        limit = aiohttp.ClientTimeout(total=HEALTH_TIMEOUT_SECONDS)
        try:
            async with self._session.get(url, timeout=limit, allow_redirects=False) as response:
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, memory: AttemptMemory
    ) -> FrameworkResult:
        """Call it, for as long as it takes; of a large body nothing is left when it is sent."""
        try:
            response = await self._session.post(
                f"{_BASE_URL}{self._endpoint.invoke_path}",
                data=body if isinstance(body, bytes) else _stream_body(body, memory.payload),
                headers={**headers, "Content-Length": str(len(body))},
                timeout=_INVOKE_TIMEOUT,
                allow_redirects=False,
                skip_auto_headers=_SKIPPED_AUTO_HEADERS,
            )
        except (aiohttp.ClientConnectionError, OSError) as error:
            return NoResponse(f"the framework went away without an answer ({error})")
        except aiohttp.ClientError as error:
            return InvalidResponse(f"the framework's answer is not HTTP ({type(error).__name__})")
        async with response:
            return await _read_response(response, memory.response)


async def _stream_body(body: bytearray, reservation: MemoryReservation) -> AsyncIterator[bytes]:
    """The body piece by piece, which are gone when they are sent."""
    while body:
        yield bytes(body[:CHUNK_BYTES])
        del body[:CHUNK_BYTES]
    reservation.release()


async def _read_response(
    response: aiohttp.ClientResponse, reservation: MemoryReservation
) -> FrameworkResult:
    body, size = bytearray(), response.content_length
    if size is not None and size > MAX_PAYLOAD_BYTES:
        return ResponseTooLarge()
    await reservation.acquire(size or 0)
    try:
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_PAYLOAD_BYTES:
                return ResponseTooLarge()
            if size is None and len(body) > DEFAULT_INLINE_BYTES:
                size = MAX_PAYLOAD_BYTES
                await reservation.acquire(size)
    except (aiohttp.ClientError, OSError) as error:
        return InvalidResponse(
            f"the framework's answer ends in the middle ({type(error).__name__})"
        )
    return FrameworkResponse(
        status=response.status,
        content_type=valid_content_type(response.headers.get("Content-Type", "")),
        headers=filter_headers(response.headers.items()),
        body=body,
        is_retryable=is_retryable(response.headers.get(framework_protocol.RETRYABLE_HEADER, "")),
    )


@asynccontextmanager
async def open_framework_client(endpoint: FrameworkEndpoint) -> AsyncIterator[FrameworkClient]:
    """The framework of a socket, which need not be there yet."""
    connector = aiohttp.UnixConnector(
        endpoint.socket_path, limit=0, keepalive_timeout=KEEPALIVE_SECONDS
    )
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=jar, auto_decompress=False
    ) as session:
        yield FrameworkClient(session, endpoint)
        await asyncio.sleep(0)  # lets the transports that were closed last say so
