"""Plain GETs, as curl would do them."""

from typing import Any

import aiohttp

DEFAULT_TIMEOUT_SECONDS = 60.0


async def get(url: str, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> tuple[int, Any]:
    """The status and the decoded body of one answer, on a connection of its own."""
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        if response.content_type == "application/json":
            return response.status, await response.json()
        return response.status, await response.text()
