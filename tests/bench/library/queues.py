"""The work queue compared with asyncio.Queue, with the same items."""

import asyncio
import time

from tests.bench.library.controller_library import time_work_queue
from tests.bench.table import Measure, new_measure

ITEM_COUNT = 100_000


async def measure_queues() -> list[Measure]:
    """Compare the seconds an item through either queue."""
    plain = await time_asyncio_queue(ITEM_COUNT)
    ours = await time_work_queue(ITEM_COUNT) / ITEM_COUNT
    return [new_measure("queue add+get+done", ours, plain / ITEM_COUNT, "<= 1.5x asyncio.Queue")]


async def time_asyncio_queue(items: int) -> float:
    """Return the seconds of put and get for `items` items."""
    plain: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    keys = [("bench", f"widget-{number}") for number in range(items)]
    began = time.perf_counter()
    for key in keys:
        await plain.put(key)
        await plain.get()
    return time.perf_counter() - began
