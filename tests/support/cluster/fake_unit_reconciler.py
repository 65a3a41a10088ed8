"""What the reconciler of the units would do, as far as pools depend on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controller.runtime.errors import NotFoundError
from controller.stockpool.stock import is_claimed, is_ready
from tests.support.builders.stock_pool import Stock
from tests.support.wait.eventually import SHORTEST_PAUSE_SECONDS


@asynccontextmanager
async def playing_units(stock: Stock, *, consume: bool = True) -> AsyncIterator[None]:
    """In the block units become ready; claimed ones are consumed once that was written down."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(play(stock, consume=consume))
        try:
            yield
        finally:
            task.cancel()


async def play(stock: Stock, *, consume: bool) -> None:
    while True:
        written = (await stock.pool()).status.claimed
        for unit in await stock.units():
            with contextlib.suppress(NotFoundError):  # which the pool has removed meanwhile
                if consume and unit.metadata.uid in written:
                    await stock.consume(unit.metadata.name)
                elif not is_claimed(unit) and not is_ready(unit):
                    await stock.start(unit.metadata.name)
        await asyncio.sleep(SHORTEST_PAUSE_SECONDS)
