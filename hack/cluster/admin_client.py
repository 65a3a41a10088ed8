"""A client of the API server with all rights."""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiStatusError(Exception):
    """A response of the API server with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class AdminClient:
    """A client with an administrator's certificate, for setting up a cluster and for tests."""

    def __init__(self, server_url: str, pki_dir: Path, *, timeout: float = 60.0) -> None:
        self._server = server_url
        self._tls = ssl.create_default_context(cafile=str(pki_dir / "ca.crt"))
        self._tls.load_cert_chain(pki_dir / "admin.crt", pki_dir / "admin.key")
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._users = Counter[asyncio.AbstractEventLoop]()

    @asynccontextmanager
    async def keep_alive(self) -> AsyncIterator[None]:
        """Keep connections open in this event loop for the length of the block.

        A handshake costs the server more than most responses. Without the block every request has
        its own connection.
        """
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop) or self._new_session()
        self._sessions[loop] = session
        self._users[loop] += 1
        try:
            yield
        finally:
            self._users[loop] -= 1
            if not self._users[loop]:
                del self._sessions[loop], self._users[loop]
                await session.close()

    async def get(self, path: str, **query: str) -> Any:
        return await self.request("GET", path, query=query)

    async def create(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self.request("POST", path, body)

    async def apply(self, path: str, body: Mapping[str, Any], **query: str) -> Any:
        """Apply an object on the server, as the field manager of the local cluster."""
        query = {"fieldManager": "local-cluster", "force": "true", **query}
        return await self.request("PATCH", path, body, query=query, content_type=APPLY_PATCH)

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self.request("PATCH", path, body, content_type=MERGE_PATCH)

    async def delete(self, path: str) -> Any:
        return await self.request("DELETE", path)

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """Send one request; raises ApiStatusError when the status is 400 or more."""
        async with self._session() as session:
            response = await session.request(
                method,
                path,
                params=query,
                data=None if body is None else BytesIO(json.dumps(body).encode()),
                headers={"Content-Type": content_type},
                ssl=self._tls,
            )
            async with response:
                text = await response.text()
                if response.status >= 400:
                    raise ApiStatusError(response.status, text)
                return json.loads(text) if "json" in response.content_type else text

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        if session := self._sessions.get(asyncio.get_running_loop()):
            yield session
            return
        async with self._new_session() as session:
            yield session

    def _new_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(self._server, timeout=self._timeout)
