"""A pool whose resources change, on a real server."""

import asyncio

from controller.runtime.client.client import Client
from shared.v1alpha1.stock_claim import is_claimed
from tests.support.builders.stock_pool import StockPoolFixture, run_fake_unit_reconciler
from tests.support.checks.unit_count_recorder import record_unit_counts
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController
from tests.support.wait.eventually import eventually


async def memories(stock: StockPoolFixture) -> list[str]:
    return sorted(unit.spec.memory for unit in await stock.units() if not is_claimed(unit))


async def filled(stock: StockPoolFixture, replicas: int) -> None:
    await eventually(stock.unclaimed_names, lambda names: len(names) == replicas)
    await stock.report_ready()
    await stock.wait_pool(lambda pool: pool.status.phase == "Ready")


async def test_only_unclaimed_units_are_replaced_and_one_by_one(
    client: Client, stock: StockPoolFixture
) -> None:
    async with record_unit_counts(client, stock.namespace) as census:
        async with InProcessStockPoolController(client, stock.namespace).run():
            await stock.create_pool(4)
            await filled(stock, 4)
            claimed = await stock.claim_unit("warm-0")
            await filled(stock, 4)
            await eventually(lambda: asyncio.sleep(0, census.ready_count), lambda count: count == 4)
            census.reset()
            await stock.patch_pool(memory="2Gi")
            async with run_fake_unit_reconciler(stock, consume=False):
                await eventually(lambda: memories(stock), lambda sizes: sizes == ["2Gi"] * 4)
                await stock.wait_pool(lambda pool: pool.status.phase == "Ready")
        assert (census.max_unclaimed, census.min_ready) == (4, 3)
    unit = await stock.get_unit("warm-0")
    assert (unit.metadata.uid, unit.spec) == (claimed.metadata.uid, claimed.spec)


async def test_unschedulable_resources_replace_only_a_few_units(
    client: Client, stock: StockPoolFixture
) -> None:
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.create_pool(4, maxUnavailable=2)
        async with run_fake_unit_reconciler(stock):
            await stock.wait_pool(lambda pool: pool.status.phase == "Ready")
        changed = await stock.patch_pool(memory="900Gi")
        pool = await eventually(
            stock.get_pool,
            lambda pool: pool.status.observed_generation == changed.metadata.generation,
        )
        assert (pool.status.replicas, pool.status.available) == (4, 2)
    controller = InProcessStockPoolController(client, stock.namespace)
    async with controller.run_caches():
        await controller.reconciler.reconcile(stock.key)
    assert await memories(stock) == ["1Gi", "1Gi", "900Gi", "900Gi"]


async def test_outdated_units_that_never_started_are_replaced_at_once(
    client: Client, stock: StockPoolFixture
) -> None:
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.create_pool(3, memory="900Gi")
        await eventually(stock.unclaimed_names, lambda names: len(names) == 3)
        await stock.patch_pool(memory="1Gi")
        await eventually(lambda: memories(stock), lambda sizes: sizes == ["1Gi"] * 3)
