"""The work queue against the plainest queue there is, with the same items."""

import asyncio
import time

from tests.bench.library.controller_library import our_queue
from tests.bench.table import Measure, measured

ITEMS = 100_000


async def queue_measures() -> list[Measure]:
    """Seconds an item through either queue."""
    plain = await asyncio_queue(ITEMS)
    ours = await our_queue(ITEMS) / ITEMS
    return [measured("queue add+get+done", ours, plain / ITEMS, "<= 1.5x asyncio.Queue")]


async def asyncio_queue(items: int) -> float:
    """Seconds for `items` times put and get."""
    plain: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    keys = [("bench", f"widget-{number}") for number in range(items)]
    began = time.perf_counter()
    for key in keys:
        await plain.put(key)
        await plain.get()
    return time.perf_counter() - began
