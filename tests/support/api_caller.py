"""A caller of the runtime API, who plays no part in the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

PATIENCE_SECONDS = 40.0


@dataclass(frozen=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    json: Any

    @property
    def data(self) -> Any:
        return self.json["data"]

    @property
    def failure(self) -> tuple[int, str]:
        """The status and the code of an error."""
        return self.status, self.json["error"]["code"]


@dataclass(frozen=True)
class APICaller:
    """Sends JSON to one replica, each request on a connection of its own."""

    url: str

    async def get(self, path: str) -> Answer:
        return await self.send("GET", path)

    async def post(self, path: str, body: object = None) -> Answer:
        return await self.send("POST", path, body)

    async def put(self, path: str, body: object, **headers: str) -> Answer:
        return await self.send("PUT", path, body, **headers)

    async def delete(self, path: str) -> Answer:
        return await self.send("DELETE", path)

    async def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, self.url + path, json=body, headers=named) as response,
        ):
            text = await response.text()
            read = await response.json() if text else None
            return Answer(response.status, response.headers, read)
