"""Asking a container over HTTP, as a kubelet does."""

from collections.abc import Mapping

import aiohttp

from hack.cluster.ports import HOST
from hack.podrunner.pod import HTTPGetAction


async def probe_succeeds(
    port_map: Mapping[int | str, int], action: HTTPGetAction, timeout_seconds: float
) -> bool:
    """Whether the request is answered with success in time."""
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://{HOST}:{port_map.get(action.port, 0)}{action.path}") as response,
        ):
            return response.status < 400
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
