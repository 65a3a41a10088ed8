"""An open load: each call begins when it is due, also when earlier ones have not ended."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

LEAD_SECONDS = 0.1


async def run_at_rate(rate: float, calls: Iterable[Callable[[], Awaitable[object]]]) -> list[float]:
    """Begin `rate` calls a second; return the seconds of each call since its due time."""
    loop = asyncio.get_running_loop()
    began, durations = loop.time() + LEAD_SECONDS, list[float]()

    async def timed(call: Callable[[], Awaitable[object]], due: float) -> None:
        await call()
        durations.append(loop.time() - due)

    async with asyncio.TaskGroup() as group:
        for turn, call in enumerate(calls):
            due = began + turn / rate
            await asyncio.sleep(due - loop.time())
            group.create_task(timed(call, due))
    return durations
