"""Starting processes and waiting for them, with a deadline and a reason."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp

from hack.cluster.admin_client import RefusedError
from hack.cluster.errors import ClusterError
from hack.cluster.process import POLL_SECONDS, Process

READY_SECONDS = 180.0


async def ensure(process: Process) -> None:
    """Start `process` unless it runs as its command says now."""
    if not process.is_current():
        await process.stop()
        process.start()


async def answers(url: str) -> bool:
    """Whether a GET of `url` is answered with 200."""
    timeout = aiohttp.ClientTimeout(total=2.0)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        return response.status == 200


async def until(ready: Callable[[], Awaitable[bool]], *processes: Process) -> None:
    """Wait for `ready`; ends early, with its log, when one of `processes` dies meanwhile."""
    last: Exception | None = None
    try:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    if await ready():
                        return
                except (aiohttp.ClientError, RefusedError, OSError) as error:
                    last = error
                for process in processes:
                    process.check_alive()
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise ClusterError(late(processes, last)) from last


def late(processes: tuple[Process, ...], last: Exception | None) -> str:
    names = " and ".join(process.name for process in processes)
    logs = "\n".join(f"  {process.log}\n{process.log_tail()}" for process in processes)
    cause = f" (last answer: {last!r})" if last else ""
    return f"{names} not ready after {READY_SECONDS:.0f} s{cause}; the end of the log:\n{logs}"
