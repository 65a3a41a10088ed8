"""Callers behind a Service: it sends them to the replicas that are in it, one after the other."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import aiohttp

from tests.support.eventually import eventually
from tests.support.http import get

PATIENCE = aiohttp.ClientTimeout(total=60)
PAUSE = 0.05


class Rotation:
    """A caller asks again only where the connection was refused; any other failure is his.

    Each request has a connection of its own. `statuses` counts what all of them were answered.
    """

    def __init__(self, *urls: str) -> None:
        self._urls = list(urls)
        self._turn = 0
        self._unsent: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The body of the answer."""
        while True:
            try:
                return await self._ask(self._next(), method, path, body)
            except aiohttp.ClientConnectorError as error:
                if not isinstance(error.os_error, ConnectionRefusedError):
                    raise
                await asyncio.sleep(PAUSE)

    async def take_out(self, url: str) -> None:
        """Send nobody to it any more; returns when it has read whatever was on its way.

        What came before is read before the request that asks here is answered.
        """
        self._urls.remove(url)
        await eventually(lambda: self._count_unsent(url), lambda count: count == 0)
        await get(f"{url}/readyz", seconds=60)

    def put_back(self, url: str) -> None:
        self._urls.append(url)

    def _next(self) -> str:
        self._turn += 1
        return self._urls[self._turn % len(self._urls)]

    async def _count_unsent(self, url: str) -> int:
        return self._unsent[url]

    async def _ask(self, url: str, method: str, path: str, body: Any) -> Any:
        self._unsent[url] += 1
        sent = SimpleNamespace(is_counted=True)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=PATIENCE, trace_configs=[self._trace(url)]
                ) as session,
                session.request(method, url + path, json=body, trace_request_ctx=sent) as response,
            ):
                self.statuses[response.status] += 1
                return await response.json()
        finally:
            self._mark_sent(url, sent)

    def _trace(self, url: str) -> aiohttp.TraceConfig:
        async def on_sent(_: object, context: SimpleNamespace, __: object) -> None:
            self._mark_sent(url, context.trace_request_ctx)

        trace = aiohttp.TraceConfig()
        trace.on_request_chunk_sent.append(on_sent)
        return trace

    def _mark_sent(self, url: str, sent: SimpleNamespace) -> None:
        if sent.is_counted:
            sent.is_counted = False
            self._unsent[url] -= 1
