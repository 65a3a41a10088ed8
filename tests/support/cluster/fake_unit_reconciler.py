"""What the reconciler of the units would do, as far as pools depend on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controller.runtime.errors import NotFoundError
from controller.stockpool.stock import is_claimed, is_unit_ready
from tests.support.builders.stock_pool import StockPoolFixture
from tests.support.wait.eventually import MIN_PAUSE_SECONDS


@asynccontextmanager
async def run_fake_unit_reconciler(
    pool: StockPoolFixture, *, consume: bool = True
) -> AsyncIterator[None]:
    """In the block units become ready; claimed ones are consumed once that was written down."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reconcile_until_cancelled(pool, consume=consume))
        try:
            yield
        finally:
            task.cancel()


async def reconcile_until_cancelled(pool: StockPoolFixture, *, consume: bool) -> None:
    while True:
        written = (await pool.get_pool()).status.claimed
        for unit in await pool.units():
            with contextlib.suppress(NotFoundError):  # which the pool has removed meanwhile
                if consume and unit.metadata.uid in written:
                    await pool.consume_unit(unit.metadata.name)
                elif not is_claimed(unit) and not is_unit_ready(unit):
                    await pool.report_ready(unit.metadata.name)
        await asyncio.sleep(MIN_PAUSE_SECONDS)
