"""The framework at the other end of the unix socket."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from serverless.worker.framework.response import is_retryable, kept_content_type, kept_headers
from serverless.worker.framework.result import Answer, Garbage, Gone, Heard, TooLarge
from serverless.worker.memory_budget import Hold, Part
from shared.invocation import framework_protocol
from shared.invocation.limits import INLINE_BYTES, MAX_PAYLOAD_BYTES

HEALTH_SECONDS: Final = 5.0
CHUNK_BYTES: Final = 256 * 1024
KEPT_SECONDS: Final = 1.0  # servers close an idle connection after five and more

_HOST: Final = "http://framework"
_NO_LIMIT: Final = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
_NOT_OURS: Final = ("Accept-Encoding", "User-Agent", "Content-Type")


@dataclass(frozen=True, slots=True)
class FrameworkPlace:
    """Where the framework listens, and on which paths."""

    socket: str = framework_protocol.SOCKET_PATH
    invoke_path: str = framework_protocol.INVOKE_PATH
    health_path: str = framework_protocol.HEALTH_PATH


class FrameworkSocket:
    """Calls the framework; a connection is used again only at once.

    One that was kept for longer may be closed by the other side just when it is used, and nobody
    could tell that from a framework that has died of the invocation.
    """

    def __init__(self, session: aiohttp.ClientSession, place: FrameworkPlace) -> None:
        self._session = session
        self._place = place

    async def is_healthy(self) -> bool:
        """Whether it says that it can take invocations."""
        url = f"{_HOST}{self._place.health_path}"
        limit = aiohttp.ClientTimeout(total=HEALTH_SECONDS)
        try:
            async with self._session.get(url, timeout=limit, allow_redirects=False) as response:
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, hold: Hold
    ) -> Heard:
        """Call it, for as long as it takes; of a large body nothing is left when it is sent."""
        try:
            response = await self._session.post(
                f"{_HOST}{self._place.invoke_path}",
                data=body if isinstance(body, bytes) else _pieces(body, hold.payload),
                headers={**headers, "Content-Length": str(len(body))},
                timeout=_NO_LIMIT,
                allow_redirects=False,
                skip_auto_headers=_NOT_OURS,
            )
        except (aiohttp.ClientConnectionError, OSError) as error:
            return Gone(f"the framework went away without an answer ({error})")
        except aiohttp.ClientError as error:
            return Garbage(f"the framework's answer is not HTTP ({type(error).__name__})")
        async with response:
            return await _read(response, hold.answer)


async def _pieces(body: bytearray, part: Part) -> AsyncIterator[bytes]:
    """The body piece by piece, which are gone when they are sent."""
    while body:
        yield bytes(body[:CHUNK_BYTES])
        del body[:CHUNK_BYTES]
    part.give_back()


async def _read(response: aiohttp.ClientResponse, part: Part) -> Heard:
    body, size = bytearray(), response.content_length
    if size is not None and size > MAX_PAYLOAD_BYTES:
        return TooLarge()
    await part.take(size or 0)
    try:
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_PAYLOAD_BYTES:
                return TooLarge()
            if size is None and len(body) > INLINE_BYTES:
                size = MAX_PAYLOAD_BYTES
                await part.take(size)
    except (aiohttp.ClientError, OSError) as error:
        return Garbage(f"the framework's answer ends in the middle ({type(error).__name__})")
    return Answer(
        status=response.status,
        content_type=kept_content_type(response.headers.get("Content-Type", "")),
        headers=kept_headers(response.headers.items()),
        body=body,
        retryable=is_retryable(response.headers.get(framework_protocol.RETRYABLE_HEADER, "")),
    )


@asynccontextmanager
async def framework_at(place: FrameworkPlace) -> AsyncIterator[FrameworkSocket]:
    """The framework of a socket, which need not be there yet."""
    connector = aiohttp.UnixConnector(place.socket, limit=0, keepalive_timeout=KEPT_SECONDS)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=jar, auto_decompress=False
    ) as session:
        yield FrameworkSocket(session, place)
        await asyncio.sleep(0)  # lets the transports that were closed last say so
