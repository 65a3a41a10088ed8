"""Asking a container over HTTP, as a kubelet does."""

from collections.abc import Mapping

import aiohttp

from hack.cluster.ports import HOST
from hack.podrunner.pod import HTTPGet


async def answers(ports: Mapping[int | str, int], get: HTTPGet, within: float) -> bool:
    """Whether the request is answered with success in time."""
    timeout = aiohttp.ClientTimeout(total=within)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://{HOST}:{ports.get(get.port, 0)}{get.path}") as response,
        ):
            return response.status < 400
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
