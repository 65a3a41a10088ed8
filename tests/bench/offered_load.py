"""Load that comes when it is due, whether or not what came before is done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

LEAD_SECONDS = 0.1


async def run_at_rate(rate: float, calls: Iterable[Callable[[], Awaitable[object]]]) -> list[float]:
    """Begin so much work a second; how long each took from the moment at which it was due."""
    loop = asyncio.get_running_loop()
    began, took = loop.time() + LEAD_SECONDS, list[float]()

    async def timed(each: Callable[[], Awaitable[object]], due: float) -> None:
        await each()
        took.append(loop.time() - due)

    async with asyncio.TaskGroup() as group:
        for turn, each in enumerate(calls):
            due = began + turn / rate
            await asyncio.sleep(due - loop.time())
            group.create_task(timed(each, due))
    return took
