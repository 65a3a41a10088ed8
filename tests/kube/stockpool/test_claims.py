"""Stock claims in pools on a real server; the tests play the claiming and consuming operations."""

from typing import Any

from controller.kinds import STOCK_POOLS
from controller.runtime.client.client import Client
from shared.v1alpha1.group import GROUP
from tests.support.builders.stock_pool import StockPoolFixture
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController

COUNTED = f"count/gpuunits.{GROUP}"
FIRST_THREE = ["warm-0", "warm-1", "warm-2"]


async def test_a_claimed_unit_is_replaced(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(3)
        await stock.wait_unclaimed(*FIRST_THREE)
        claimed = await stock.claim_unit("warm-1")
        await stock.wait_unclaimed("warm-0", "warm-2", "warm-3")
        pool = await stock.wait_pool(lambda pool: pool.status.claimed)
    assert (pool.status.claimed, pool.status.allocated) == ((claimed.metadata.uid,), 0)


async def test_a_consumed_unit_is_counted_once(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.claim_unit("warm-0")
        await stock.wait_pool(lambda pool: pool.status.claimed)
        await stock.consume_unit("warm-0")
        pool = await stock.wait_pool(lambda pool: not pool.status.claimed)
        assert pool.status.allocated == 1
        await stock.claim_unit("warm-1")
        await stock.wait_unclaimed("warm-0", "warm-2")
        await stock.wait_pool(lambda pool: pool.status.claimed)
    assert (await stock.get_pool()).status.allocated == 1


async def test_a_unit_consumed_while_no_controller_ran_is_counted(
    client: Client, stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        await stock.claim_unit("warm-0")
        await stock.wait_pool(lambda pool: pool.status.claimed)
    await stock.consume_unit("warm-0")
    async with InProcessStockPoolController(client, stock.namespace).run():
        pool = await stock.wait_pool(lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 1


async def test_a_released_unit_is_not_counted_and_the_pool_shrinks_back(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.report_ready()
        await stock.claim_unit("warm-0")
        await stock.wait_unclaimed("warm-1", "warm-2")
        await stock.wait_pool(lambda pool: pool.status.claimed)
        await stock.release_unit("warm-0")
        await stock.wait_unclaimed("warm-0", "warm-1")  # warm-2 was never ready
        pool = await stock.wait_pool(lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 0


async def test_claims_are_counted_while_the_spec_is_invalid(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        await stock.patch_pool(memory="lots")
        await stock.claim_unit("warm-0")
        await stock.wait_pool(lambda pool: pool.status.claimed)
        await stock.consume_unit("warm-0")
        await stock.wait_pool(lambda pool: pool.status.allocated == 1)


async def test_a_pool_that_is_being_deleted_counts_claims_and_gets_no_more_units(
    client: Client, stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    finalizer: dict[str, Any] = {"metadata": {"finalizers": ["example.com/held"]}}
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        await client.patch(STOCK_POOLS, stock.key, finalizer)
        await client.delete(STOCK_POOLS, stock.key)
        await stock.claim_unit("warm-0")
        # else the stock claim would wait without end
        await stock.wait_pool(lambda pool: pool.status.claimed)
    assert await stock.unclaimed_names() == []
    await client.patch(STOCK_POOLS, stock.key, {"metadata": {"finalizers": None}})
