"""Keep-alive connections to an API server."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from hack.cluster.admin_client import MERGE_PATCH, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from tests.bench.library.widget_crd import compact_json


class Connection:
    """Many small requests to one API server, over a bounded number of connections."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str, *, gzip: bool = False, **query: str) -> bytes:
        """Return the whole body of a response, decompressed."""
        encoding = {"Accept-Encoding": "gzip" if gzip else "identity"}
        async with self._session.get(path, params=query, headers=encoding) as response:
            return await read_body(response)

    async def chunks(
        self, path: str, *, gzip: bool = False, **query: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield the body of a response in pieces without a timeout, as a watch is read."""
        encoding = {"Accept-Encoding": "gzip" if gzip else "identity"}
        endless = aiohttp.ClientTimeout(total=None)
        async with self._session.get(
            path, params=query, headers=encoding, timeout=endless
        ) as response:
            response.raise_for_status()
            async for chunk in response.content.iter_any():
                yield chunk

    async def create(self, path: str, body: Mapping[str, Any]) -> bytes:
        return await self.send("POST", path, body)

    async def replace(self, path: str, body: Mapping[str, Any]) -> bytes:
        return await self.send("PUT", path, body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> bytes:
        return await self.send("PATCH", path, body, MERGE_PATCH)

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        content_type: str = "application/json",
    ) -> bytes:
        headers = {"Content-Type": content_type}
        async with self._session.request(
            method, path, data=compact_json(body), headers=headers
        ) as response:
            return await read_body(response)


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    body = await response.read()
    if response.status >= 400:
        raise ApiStatusError(response.status, body.decode())
    return body


@asynccontextmanager
async def open_connection(
    plane: ControlPlane, connections: int = 16, token: str = ""
) -> AsyncIterator[Connection]:
    """Open connections to `plane` for the length of the block, with all rights or with `token`."""
    pki = plane.layout.pki_dir
    tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if not token:
        tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    async with aiohttp.ClientSession(
        plane.layout.server_url,
        connector=aiohttp.TCPConnector(ssl=tls, limit=connections),
        headers={"Authorization": f"Bearer {token}"} if token else None,
        timeout=aiohttp.ClientTimeout(total=120),
        read_bufsize=2**20,
    ) as session:
        yield Connection(session)
