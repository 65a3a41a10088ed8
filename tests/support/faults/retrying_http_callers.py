"""Callers of real API processes who repeat their request on the next one until it is answered."""

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
    """They go to the replicas in turn; `answers` is what they were told."""

    def __init__(self, urls: Sequence[str], spec: str) -> None:
        self._urls = itertools.cycle(urls)
        self._spec = spec
        self.results: list[CallerResult] = []

    async def create(self, session: aiohttp.ClientSession, name: str) -> None:
        """Until it is certain what became of it."""
        while True:
            answer = await self._try_create(session, name)
            if answer is not None:
                self.results.append(answer)
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def send_and_disconnect(self, name: str) -> None:
        """Send the request and go away before the answer."""
        where, body = urlsplit(next(self._urls)), msgspec.json.encode(self._body(name))
        head = (
            f"POST {UNITS} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
        )
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _try_create(self, session: aiohttp.ClientSession, name: str) -> CallerResult | None:
        """None if the caller cannot know, or has to come back."""
        url = next(self._urls) + UNITS
        try:
            async with session.post(
                url, json=self._body(name), timeout=REQUEST_TIMEOUT
            ) as response:
                told = await response.json()
        except (aiohttp.ClientError, TimeoutError):
            return None
        if response.status in (200, 201):
            return CallerResult(name, response.status == 201, told["data"]["uid"])
        if response.status == 409:
            return CallerResult(name, is_new=False, error_code=told["error"]["code"])
        return None

    def _body(self, name: str) -> dict[str, Any]:
        return {
            "operationID": name,
            "name": name,
            "specName": self._spec,
            "image": "example/image:1",
        }
