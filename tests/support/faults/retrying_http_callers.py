"""Callers of real API processes that repeat a request on the next replica until it has a result."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from apiserver.http.paths import UNITS
from tests.support.checks.operation_invariants import CallerResult

RETRY_SECONDS = 0.1
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=30)


class RetryingHttpCallers:
    """Callers that use the replicas in turn; `results` are the results that they got."""

    def __init__(self, urls: Sequence[str], spec: str) -> None:
        self._urls = itertools.cycle(urls)
        self._spec = spec
        self.results: list[CallerResult] = []

    async def create(self, session: aiohttp.ClientSession, name: str) -> None:
        """Create a unit, and repeat the request until its result is certain."""
        while True:
            result = await self._try_create(session, name)
            if result is not None:
                self.results.append(result)
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def send_and_disconnect(self, name: str) -> None:
        """Send the request, and close the connection before the response."""
        address, body = urlsplit(next(self._urls)), msgspec.json.encode(self._body(name))
        head = (
            f"POST {UNITS} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        )
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _try_create(self, session: aiohttp.ClientSession, name: str) -> CallerResult | None:
        """Send the request once; None if the caller cannot know the result, or has to retry."""
        url = next(self._urls) + UNITS
        try:
            async with session.post(
                url, json=self._body(name), timeout=REQUEST_TIMEOUT
            ) as response:
                body = await response.json()
        except (aiohttp.ClientError, TimeoutError):
            return None
        if response.status in (200, 201):
            return CallerResult(name, response.status == 201, body["data"]["uid"])
        if response.status == 409:
            return CallerResult(name, is_new=False, error_code=body["error"]["code"])
        return None

    def _body(self, name: str) -> dict[str, Any]:
        return {
            "operationID": name,
            "name": name,
            "specName": self._spec,
            "image": "example/image:1",
        }
