"""What pools make of claims on a real server; the tests play whoever claims and consumes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.kinds import STOCK_POOLS
from controller.runtime.client.client import Client
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.group import GROUP
from tests.support.builders.config_maps import client_of
from tests.support.builders.stock_pool import Stock
from tests.support.cluster.stock_pool_controller import PoolKeeper

COUNTED = f"count/gpuunits.{GROUP}"
FIRST_THREE = ["warm-0", "warm-1", "warm-2"]


@pytest.fixture
async def client(installed: ControlPlane) -> AsyncIterator[Client]:
    async with client_of(installed.layout.admin_kubeconfig) as made:
        yield made


@pytest.fixture
def stock(client: Client, namespace: str) -> Stock:
    return Stock(client, namespace)


@pytest.fixture
def keeper(client: Client, namespace: str) -> PoolKeeper:
    return PoolKeeper(client, namespace)


async def test_a_claimed_unit_is_replaced(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(3)
        await stock.has(*FIRST_THREE)
        claimed = await stock.claim("warm-1")
        await stock.has("warm-0", "warm-2", "warm-3")
        pool = await stock.says(lambda pool: pool.status.claimed)
    assert (pool.status.claimed, pool.status.allocated) == ((claimed.metadata.uid,), 0)


async def test_a_consumed_unit_is_counted_once(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await stock.has("warm-0", "warm-1")
        await stock.claim("warm-0")
        await stock.says(lambda pool: pool.status.claimed)
        await stock.consume("warm-0")
        pool = await stock.says(lambda pool: not pool.status.claimed)
        assert pool.status.allocated == 1
        await stock.claim("warm-1")
        await stock.has("warm-0", "warm-2")
        await stock.says(lambda pool: pool.status.claimed)
    assert (await stock.pool()).status.allocated == 1


async def test_a_unit_consumed_while_nobody_looked_is_counted(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(1)
        await stock.has("warm-0")
        await stock.claim("warm-0")
        await stock.says(lambda pool: pool.status.claimed)
    await stock.consume("warm-0")
    async with PoolKeeper(client, stock.namespace).keeping():
        pool = await stock.says(lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 1


async def test_a_released_unit_is_not_counted_and_the_pool_shrinks_back(
    stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await stock.has("warm-0", "warm-1")
        await stock.start()
        await stock.claim("warm-0")
        await stock.has("warm-1", "warm-2")
        await stock.says(lambda pool: pool.status.claimed)
        await stock.release("warm-0")
        await stock.has("warm-0", "warm-1")  # warm-2 was never ready
        pool = await stock.says(lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 0


async def test_claims_are_counted_while_the_spec_is_wrong(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(1)
        await stock.has("warm-0")
        await stock.change(memory="lots")
        await stock.claim("warm-0")
        await stock.says(lambda pool: pool.status.claimed)
        await stock.consume("warm-0")
        await stock.says(lambda pool: pool.status.allocated == 1)


async def test_a_pool_that_is_being_deleted_counts_claims_and_gets_no_more_units(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    held: dict[str, Any] = {"metadata": {"finalizers": ["example.com/held"]}}
    async with keeper.keeping():
        await stock.ask(1)
        await stock.has("warm-0")
        await client.patch(STOCK_POOLS, stock.key, held)
        await client.delete(STOCK_POOLS, stock.key)
        await stock.claim("warm-0")
        await stock.says(lambda pool: pool.status.claimed)  # or the claim would wait for ever
    assert await stock.unclaimed() == []
    await client.patch(STOCK_POOLS, stock.key, {"metadata": {"finalizers": None}})
