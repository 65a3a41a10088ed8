"""A plain GET, as curl sends it."""

from typing import Any

import aiohttp

DEFAULT_TIMEOUT_SECONDS = 60.0


async def get(url: str, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> tuple[int, Any]:
    """Return the status and the decoded body of a response, on a new connection."""
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        if response.content_type == "application/json":
            return response.status, await response.json()
        return response.status, await response.text()
