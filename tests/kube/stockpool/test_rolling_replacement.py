"""A pool whose envelope changes, on a real server."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from controller.runtime.client.client import Client
from controller.stockpool.stock import is_claimed
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import client_of
from tests.support.builders.stock_pool import Stock
from tests.support.checks.unit_count_recorder import counting
from tests.support.cluster.fake_unit_reconciler import playing_units
from tests.support.cluster.stock_pool_controller import PoolKeeper
from tests.support.wait.eventually import eventually


@pytest.fixture
async def client(installed: ControlPlane) -> AsyncIterator[Client]:
    async with client_of(installed.layout.admin_kubeconfig) as made:
        yield made


@pytest.fixture
def stock(client: Client, namespace: str) -> Stock:
    return Stock(client, namespace)


async def memories(stock: Stock) -> list[str]:
    return sorted(unit.spec.memory for unit in await stock.units() if not is_claimed(unit))


async def filled(stock: Stock, replicas: int) -> None:
    await eventually(stock.unclaimed, lambda found: len(found) == replicas)
    await stock.start()
    await stock.says(lambda pool: pool.status.phase == "Ready")


async def test_unclaimed_units_are_replaced_one_by_one_and_claimed_ones_are_left(
    client: Client, stock: Stock
) -> None:
    async with counting(client, stock.namespace) as census:
        async with PoolKeeper(client, stock.namespace).keeping():
            await stock.ask(4)
            await filled(stock, 4)
            claimed = await stock.claim("warm-0")
            await filled(stock, 4)
            await eventually(lambda: asyncio.sleep(0, census.ready), lambda count: count == 4)
            census.begin()
            await stock.change(memory="2Gi")
            async with playing_units(stock, consume=False):
                await eventually(lambda: memories(stock), lambda found: found == ["2Gi"] * 4)
                await stock.says(lambda pool: pool.status.phase == "Ready")
        assert (census.most_unclaimed, census.fewest_ready) == (4, 3)
    kept = await stock.unit("warm-0")
    assert (kept.metadata.uid, kept.spec) == (claimed.metadata.uid, claimed.spec)


async def test_an_envelope_that_fits_nowhere_costs_only_a_few_units(
    client: Client, stock: Stock
) -> None:
    async with PoolKeeper(client, stock.namespace).keeping():
        await stock.ask(4, maxUnavailable=2)
        async with playing_units(stock):
            await stock.says(lambda pool: pool.status.phase == "Ready")
        changed = await stock.change(memory="900Gi")
        pool = await eventually(
            stock.pool,
            lambda pool: pool.status.observed_generation == changed.metadata.generation,
        )
        assert (pool.status.replicas, pool.status.available) == (4, 2)
    keeper = PoolKeeper(client, stock.namespace)
    async with keeper.looking():
        await keeper.reconciler.reconcile(stock.key)
    assert await memories(stock) == ["1Gi", "1Gi", "900Gi", "900Gi"]


async def test_units_of_the_wrong_envelope_that_never_started_are_replaced_at_once(
    client: Client, stock: Stock
) -> None:
    async with PoolKeeper(client, stock.namespace).keeping():
        await stock.ask(3, memory="900Gi")
        await eventually(stock.unclaimed, lambda found: len(found) == 3)
        await stock.change(memory="1Gi")
        await eventually(lambda: memories(stock), lambda found: found == ["1Gi"] * 3)
