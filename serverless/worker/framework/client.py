"""HTTP client of the framework, over its unix socket."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from serverless.worker.framework.result import (
    FrameworkResponse,
    FrameworkResult,
    InvalidResponse,
    NoResponse,
    ResponseTooLarge,
    filter_headers,
    is_retryable,
    valid_content_type,
)
from serverless.worker.memory_budget import AttemptMemory, MemoryReservation
from shared.invocation import framework_protocol
from shared.invocation.limits import DEFAULT_INLINE_BYTES, MAX_PAYLOAD_BYTES

HEALTH_TIMEOUT_SECONDS: Final = 5.0
CHUNK_BYTES: Final = 256 * 1024
KEEPALIVE_SECONDS: Final = 1.0  # servers close idle connections after five seconds or more

_BASE_URL: Final = "http://framework"
_INVOKE_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
_SKIPPED_AUTO_HEADERS: Final = ("Accept-Encoding", "User-Agent", "Content-Type")


@dataclass(frozen=True, slots=True)
class FrameworkEndpoint:
    """The socket and the paths of the framework."""

    socket_path: str = framework_protocol.SOCKET_PATH
    invoke_path: str = framework_protocol.INVOKE_PATH
    health_path: str = framework_protocol.HEALTH_PATH


class FrameworkClient:
    """Calls the framework; an idle connection is reused only for a short time.

    The framework may close an older one just when it is used, which looks the same as a framework
    that the invocation has crashed.
    """

    def __init__(self, session: aiohttp.ClientSession, endpoint: FrameworkEndpoint) -> None:
        self._session = session
        self._endpoint = endpoint

    async def is_healthy(self) -> bool:
        """Whether the framework reports that it can take invocations."""
        url = f"{_BASE_URL}{self._endpoint.health_path}"
        timeout = aiohttp.ClientTimeout(total=HEALTH_TIMEOUT_SECONDS)
        try:
            async with self._session.get(url, timeout=timeout, allow_redirects=False) as response:
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, memory: AttemptMemory
    ) -> FrameworkResult:
        """Call the framework without a timeout; a bytearray body is emptied while it is sent."""
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
            return NoResponse(f"no response from the framework ({error})")
        except aiohttp.ClientError as error:
            return InvalidResponse(f"the framework's response is not HTTP ({type(error).__name__})")
        async with response:
            return await _read_response(response, memory.response)


async def _stream_body(body: bytearray, reservation: MemoryReservation) -> AsyncIterator[bytes]:
    """Yield the body in chunks and delete each from it."""
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
        return InvalidResponse(f"the framework's response is incomplete ({type(error).__name__})")
    return FrameworkResponse(
        status=response.status,
        content_type=valid_content_type(response.headers.get("Content-Type", "")),
        headers=filter_headers(response.headers.items()),
        body=body,
        is_retryable=is_retryable(response.headers.get(framework_protocol.RETRYABLE_HEADER, "")),
    )


@asynccontextmanager
async def open_framework_client(endpoint: FrameworkEndpoint) -> AsyncIterator[FrameworkClient]:
    """Yield a client for the socket, which need not exist yet."""
    connector = aiohttp.UnixConnector(
        endpoint.socket_path, limit=0, keepalive_timeout=KEEPALIVE_SECONDS
    )
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    ) as session:
        yield FrameworkClient(session, endpoint)
        await asyncio.sleep(0)  # lets the closed transports call connection_lost
