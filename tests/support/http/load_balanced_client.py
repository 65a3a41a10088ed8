"""A client behind a Service, which sends each new connection to one of its replicas."""

import asyncio
import socket
from collections import Counter
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.support.http.get import get
from tests.support.wait.eventually import eventually

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=60)
RETRY_SECONDS = 0.05
SERVICE_HOST = "runtime-api"


class LoadBalancedClient(AbstractResolver):
    """A client that retries only refused connections; any other failure is raised.

    Connections are reused until a replica says that it closes one. `statuses` counts the responses
    by status.
    """

    def __init__(self, *urls: str) -> None:
        self._urls = list(urls)
        self._next_index = 0
        self._connecting = 0
        self.statuses: Counter[int] = Counter()

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(resolver=self, use_dns_cache=False)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=REQUEST_TIMEOUT, trace_configs=[self._trace()]
        )
        self._session._retry_connection = False  # a retry would hide lost reads
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the decoded body of the response."""
        while True:
            try:
                return await self._request_once(method, path, body)
            except aiohttp.ClientConnectorError as error:
                if not isinstance(error.os_error, ConnectionRefusedError):
                    raise
                await asyncio.sleep(RETRY_SECONDS)

    async def remove_replica(self, url: str) -> None:
        """Open no more connections to a replica; returns when it has accepted the pending ones.

        The response to the last request comes after every connection that was opened before it.
        """
        self._urls.remove(url)
        await eventually(self._pending_connections, lambda count: count == 0)
        await get(f"{url}/readyz", timeout_seconds=60)

    def add_replica(self, url: str) -> None:
        self._urls.append(url)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Choose the replica of the next connection."""
        self._next_index += 1
        chosen = urlsplit(self._urls[self._next_index % len(self._urls)])
        return [
            ResolveResult(
                hostname=host,
                host=chosen.hostname or "",
                port=chosen.port or 0,
                family=socket.AF_INET,
                proto=0,
                flags=0,
            )
        ]

    async def close(self) -> None:
        """Do nothing: this resolver has no resources."""

    async def _pending_connections(self) -> int:
        return self._connecting

    async def _request_once(self, method: str, path: str, body: Any) -> Any:
        context = SimpleNamespace(is_connecting=False)
        url = f"http://{SERVICE_HOST}{path}"
        try:
            async with self._session.request(
                method, url, json=body, trace_request_ctx=context
            ) as response:
                self.statuses[response.status] += 1
                return await response.json()
        finally:
            self._connection_ended(context)

    def _trace(self) -> aiohttp.TraceConfig:
        async def on_start(_: object, context: SimpleNamespace, __: object) -> None:
            self._connecting += 1
            context.trace_request_ctx.is_connecting = True

        async def on_end(_: object, context: SimpleNamespace, __: object) -> None:
            self._connection_ended(context.trace_request_ctx)

        trace = aiohttp.TraceConfig()
        trace.on_connection_create_start.append(on_start)
        trace.on_connection_create_end.append(on_end)
        return trace

    def _connection_ended(self, context: SimpleNamespace) -> None:
        if context.is_connecting:
            context.is_connecting = False
            self._connecting -= 1
