"""The start of processes, and the wait for their readiness with a deadline and a reason."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp

from hack.cluster.admin_client import ApiStatusError
from hack.cluster.errors import ClusterError
from hack.cluster.process import POLL_SECONDS, Process

READY_TIMEOUT_SECONDS = 180.0


async def ensure_running(process: Process) -> None:
    """Start the process unless it runs with its current command."""
    if not process.is_up_to_date():
        await process.stop()
        process.start()


async def responds_ok(url: str) -> bool:
    """Return whether a GET of `url` has the status 200."""
    timeout = aiohttp.ClientTimeout(total=2.0)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        return response.status == 200


async def wait_until(is_ready: Callable[[], Awaitable[bool]], *processes: Process) -> None:
    """Wait for `is_ready`; raise ClusterError early if one of `processes` has ended."""
    last_error: Exception | None = None
    try:
        async with asyncio.timeout(READY_TIMEOUT_SECONDS):
            while True:
                try:
                    if await is_ready():
                        return
                except (aiohttp.ClientError, ApiStatusError, OSError) as error:
                    last_error = error
                for process in processes:
                    process.check_alive()
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise ClusterError(timeout_message(processes, last_error)) from last_error


def timeout_message(processes: tuple[Process, ...], last_error: Exception | None) -> str:
    names = " and ".join(process.name for process in processes)
    logs = "\n".join(f"  {process.log_path}\n{process.log_tail()}" for process in processes)
    cause = f" (last error: {last_error!r})" if last_error else ""
    return (
        f"{names} not ready after {READY_TIMEOUT_SECONDS:.0f} s{cause}; the end of the log:\n{logs}"
    )
