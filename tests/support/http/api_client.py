"""A client of the API that knows only its URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

DEFAULT_TIMEOUT_SECONDS = 150.0


@dataclass(frozen=True)
class ApiResponse:
    """A response whose body was read completely."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def data(self) -> Any:
        """Return the data of a successful response."""
        assert set(self.body) <= {"data", "meta"}, self.body
        return self.body["data"]

    @property
    def meta(self) -> Any:
        return self.body["meta"]

    @property
    def error(self) -> dict[str, Any]:
        """Return the error of a failed response."""
        assert set(self.body) == {"error"}, self.body
        error: dict[str, Any] = self.body["error"]
        return error

    @property
    def status_and_code(self) -> tuple[int, str]:
        return self.status, self.error["code"]

    @property
    def field_errors(self) -> dict[str, str]:
        """Return the messages of a validation error by field path."""
        return {detail["field"]: detail["message"] for detail in self.error["details"]}


class ApiClient:
    """A client of one replica of the API; each request has its own connection."""

    def __init__(
        self, url: str, *, seconds: float = DEFAULT_TIMEOUT_SECONDS, token: str = ""
    ) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = aiohttp.ClientTimeout(total=seconds)

    async def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ApiResponse:
        async with (
            aiohttp.ClientSession(timeout=self._timeout, headers=self._headers) as session,
            session.request(method, self.url + path, json=body, headers=headers) as response,
        ):
            decoded = await response.json() if response.status != 204 else await response.text()
            return ApiResponse(response.status, response.headers, decoded)

    async def get(self, path: str) -> ApiResponse:
        return await self.request("GET", path)

    async def post(self, path: str, body: Any) -> ApiResponse:
        return await self.request("POST", path, body)

    async def put(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> ApiResponse:
        return await self.request("PUT", path, body, headers)

    async def delete(self, path: str) -> ApiResponse:
        return await self.request("DELETE", path)

    async def text(self, path: str) -> str:
        """Return the body of a plain text response."""
        async with (
            aiohttp.ClientSession(timeout=self._timeout, headers=self._headers) as session,
            session.get(self.url + path) as response,
        ):
            return await response.text()
