"""Pools through lagging caches, a second leader and a crash at every write.

At no moment are there more unclaimed units than asked, and every consumed unit is counted once.
"""

from collections.abc import AsyncIterator

import pytest

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client.client import Client
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import client_of
from tests.support.builders.stock_pool import Stock
from tests.support.checks.unit_count_recorder import counting
from tests.support.cluster.fake_unit_reconciler import playing_units
from tests.support.cluster.stock_pool_controller import PoolKeeper
from tests.support.faults.conflicting_write_client import OvertakenClient
from tests.support.faults.crashing_clients import DeafClient, Moment, MortalClient
from tests.support.faults.lagging_watch import LaggingSource
from tests.support.wait.eventually import eventually


@pytest.fixture
async def client(installed: ControlPlane) -> AsyncIterator[Client]:
    async with client_of(installed.layout.admin_kubeconfig) as made:
        yield made


@pytest.fixture
def stock(client: Client, namespace: str) -> Stock:
    return Stock(client, namespace)


async def test_a_keeper_whose_cache_lags_never_makes_more_than_asked(
    client: Client, stock: Stock
) -> None:
    source = LaggingSource(client, GPU_UNITS)
    keeper = PoolKeeper(client, stock.namespace, source=source)
    async with counting(client, stock.namespace) as census, keeper.keeping():
        await stock.ask(2)
        await stock.has("warm-0", "warm-1")
        await stock.change(replicas=4)
        await stock.has("warm-0", "warm-1", "warm-2", "warm-3")
        await stock.start("warm-1", "warm-2")
        await stock.claim("warm-0")
        await stock.change(replicas=3)
        await stock.says(lambda pool: pool.status.observed_generation == 3)
        source.catch_up()
        await stock.says(lambda pool: len(pool.status.claimed) == 1)
        await stock.has("warm-1", "warm-2", "warm-3")
        await census.complete()
        assert census.most_unclaimed == 4


async def test_a_second_leader_with_an_old_cache_makes_nothing_more_and_counts_nothing_twice(
    client: Client, stock: Stock
) -> None:
    source = LaggingSource(client, GPU_UNITS)
    second = PoolKeeper(client, stock.namespace, source=source)
    await stock.ask(2)
    async with PoolKeeper(client, stock.namespace).keeping():
        await stock.has("warm-0", "warm-1")
        await stock.claim("warm-0")
        await stock.has("warm-1", "warm-2")
        await stock.says(lambda pool: pool.status.claimed)
    await stock.claim("warm-1")
    async with counting(client, stock.namespace) as census, second.looking():
        # From here on the second one knows of two claims and of one unclaimed unit.
        await stock.consume("warm-0")
        async with PoolKeeper(client, stock.namespace).keeping():
            await stock.has("warm-0", "warm-2")  # another warm-0
            await stock.says(lambda pool: pool.status.allocated == 1)
        await eventually(lambda: knows(second, stock))
        await second.reconciler.reconcile(stock.key)
        source.catch_up()
        await second.reconciler.reconcile(stock.key)
        assert await stock.unclaimed() == ["warm-0", "warm-2"]
        await census.complete()
        assert census.most_unclaimed == 2
    assert (await stock.pool()).status.allocated == 1


async def knows(keeper: PoolKeeper, stock: Stock) -> bool:
    """Whether the keeper has the pool as it is now."""
    return keeper.caches.pools.get(stock.key) == await stock.pool()


async def test_a_keeper_that_loses_answers_never_makes_more_than_asked(
    client: Client, stock: Stock
) -> None:
    deaf = DeafClient(client, every=3)
    await stock.ask(20)
    async with counting(client, stock.namespace) as census, playing_units(stock):
        for turn in range(1, 4):
            await keep(deaf, stock, consumed=turn - 1)
            await disturb(stock, turn)
        await keep(deaf, stock, consumed=3)
        await census.complete()
        assert census.most_unclaimed == 20
    assert deaf.lost > 6


async def test_a_claim_that_comes_before_a_removal_wins(client: Client, stock: Stock) -> None:
    await stock.ask(2)
    async with PoolKeeper(client, stock.namespace).keeping():
        await stock.has("warm-0", "warm-1")
    await stock.change(replicas=1)
    overtaken = OvertakenClient(client, lambda: stock.claim("warm-1"))
    async with PoolKeeper(overtaken, stock.namespace).keeping():
        pool = await stock.says(lambda pool: pool.status.claimed)
        await stock.has("warm-0")
    assert pool.status.claimed == ((await stock.unit("warm-1")).metadata.uid,)


async def test_a_count_that_another_leader_has_taken_is_not_undone(
    client: Client, stock: Stock
) -> None:
    await stock.ask(1)
    async with PoolKeeper(client, stock.namespace).keeping():
        await stock.has("warm-0")
        await stock.claim("warm-0")
        await stock.says(lambda pool: pool.status.claimed)
        await stock.has("warm-1")
    await stock.consume("warm-0")

    async def count_more() -> None:
        counted = {"allocated": 7, "claimed": None}
        await client.patch_status(STOCK_POOLS, stock.key, counted)

    overtaken = OvertakenClient(client, count_more)
    async with PoolKeeper(overtaken, stock.namespace).keeping():
        await stock.says(lambda pool: pool.status.allocated)
    assert overtaken.is_overtaken
    assert (await stock.pool()).status.allocated == 7


@pytest.mark.parametrize("moment", Moment)
async def test_a_keeper_that_dies_at_any_write_is_followed_by_one_that_ends_right(
    client: Client, stock: Stock, moment: Moment
) -> None:
    await stock.ask(3)
    async with counting(client, stock.namespace) as census, playing_units(stock):
        await keep(client, stock, consumed=0)
        turn = 1
        while await dies(MortalClient(client, turn, moment), stock, turn):
            await keep(client, stock, consumed=turn)
            turn += 1
        await census.complete()
        assert census.most_unclaimed == 3
    assert turn > 6  # else the disturbance asked for too little


async def dies(writes: MortalClient, stock: Stock, turn: int) -> bool:
    """Whether a keeper that writes with `writes` dies of a disturbance."""
    await disturb(stock, turn)

    async def is_over() -> bool:
        return writes.is_dead or await ended(stock, turn)

    async with PoolKeeper(writes, stock.namespace).keeping():
        await eventually(is_over)
    return writes.is_dead


async def keep(client: Client, stock: Stock, consumed: int) -> None:
    """A keeper runs until all is as it should be."""
    async with PoolKeeper(client, stock.namespace).keeping():
        await eventually(lambda: ended(stock, consumed))


async def disturb(stock: Stock, turn: int) -> None:
    """Claim a unit and change the envelope: there is something to count, to make and to remove."""
    await stock.claim((await stock.unclaimed())[0])
    await stock.change(memory=f"{turn + 1}Gi")


async def ended(stock: Stock, consumed: int) -> bool:
    """The pool is full of the right units, and has counted each one that it lost."""
    pool = await stock.pool()
    fresh = pool.status.observed_generation == pool.metadata.generation
    counted = (pool.status.allocated, pool.status.claimed) == (consumed, ())
    return fresh and counted and pool.status.phase == "Ready"
