"""The cluster's administrator: plain requests to the API server with a client certificate."""

import json
import ssl
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class RefusedError(Exception):
    """The API server answered, and the answer was no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Admin:
    """May do everything; for bringing a cluster up and for tests that look at it from outside."""

    def __init__(self, server: str, pki: Path, *, timeout: float = 60.0) -> None:
        self._server = server
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._timeout = aiohttp.ClientTimeout(total=timeout)

    async def get(self, path: str, **query: str) -> Any:
        return await self.request("GET", path, query=query)

    async def create(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self.request("POST", path, body)

    async def apply(self, path: str, body: Mapping[str, Any], **query: str) -> Any:
        """Server-side apply under the name of the local cluster."""
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
        """One request on a connection of its own: restarts of the server leave nothing stale."""
        async with (
            aiohttp.ClientSession(self._server, timeout=self._timeout) as session,
            session.request(
                method,
                path,
                params=query,
                data=None if body is None else BytesIO(json.dumps(body).encode()),
                headers={"Content-Type": content_type},
                ssl=self._tls,
            ) as response,
        ):
            text = await response.text()
            if response.status >= 400:
                raise RefusedError(response.status, text)
            return json.loads(text) if "json" in response.content_type else text
