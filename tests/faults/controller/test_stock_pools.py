"""Pools under lagging caches, a second leader and a crash at every write.

There are never more unclaimed units than requested, and every consumed unit is counted once.
"""

from collections.abc import AsyncIterator

import pytest

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client.client import Client
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import connect_client
from tests.support.builders.stock_pool import StockPoolFixture, run_fake_unit_reconciler
from tests.support.checks.unit_count_recorder import record_unit_counts
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController
from tests.support.faults.faulty_clients import (
    ConflictingWriteClient,
    CrashingClient,
    CrashPoint,
    LostAnswerClient,
)
from tests.support.faults.lagging_watch import LaggingSource
from tests.support.wait.eventually import eventually


@pytest.fixture
async def client(installed_control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect_client(installed_control_plane.layout.admin_kubeconfig) as client:
        yield client


@pytest.fixture
def stock(client: Client, namespace: str) -> StockPoolFixture:
    return StockPoolFixture(client, namespace)


async def test_a_pool_controller_with_a_lagging_cache_never_exceeds_the_replicas(
    client: Client, stock: StockPoolFixture
) -> None:
    source = LaggingSource(client, GPU_UNITS)
    controller = InProcessStockPoolController(client, stock.namespace, source=source)
    async with record_unit_counts(client, stock.namespace) as census, controller.run():
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.patch_pool(replicas=4)
        await stock.wait_unclaimed("warm-0", "warm-1", "warm-2", "warm-3")
        await stock.report_ready("warm-1", "warm-2")
        await stock.claim_unit("warm-0")
        await stock.patch_pool(replicas=3)
        await stock.wait_pool(lambda pool: pool.status.observed_generation == 3)
        source.catch_up()
        await stock.wait_pool(lambda pool: len(pool.status.claimed) == 1)
        await stock.wait_unclaimed("warm-1", "warm-2", "warm-3")
        await census.wait_caught_up()
        assert census.max_unclaimed == 4


async def test_a_second_leader_with_an_old_cache_creates_no_extra_unit_and_counts_none_twice(
    client: Client, stock: StockPoolFixture
) -> None:
    source = LaggingSource(client, GPU_UNITS)
    second = InProcessStockPoolController(client, stock.namespace, source=source)
    await stock.create_pool(2)
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.claim_unit("warm-0")
        await stock.wait_unclaimed("warm-1", "warm-2")
        await stock.wait_pool(lambda pool: pool.status.claimed)
    await stock.claim_unit("warm-1")
    async with record_unit_counts(client, stock.namespace) as census, second.run_caches():
        # From here on the second controller knows of two stock claims and of one unclaimed unit.
        await stock.consume_unit("warm-0")
        async with InProcessStockPoolController(client, stock.namespace).run():
            await stock.wait_unclaimed("warm-0", "warm-2")  # another warm-0
            await stock.wait_pool(lambda pool: pool.status.allocated == 1)
        await eventually(lambda: knows(second, stock))
        await second.reconciler.reconcile(stock.key)
        source.catch_up()
        await second.reconciler.reconcile(stock.key)
        assert await stock.unclaimed_names() == ["warm-0", "warm-2"]
        await census.wait_caught_up()
        assert census.max_unclaimed == 2
    assert (await stock.get_pool()).status.allocated == 1


async def knows(controller: InProcessStockPoolController, stock: StockPoolFixture) -> bool:
    """Return whether the controller's cache has the current pool."""
    return controller.caches.pools.get(stock.key) == await stock.get_pool()


async def test_a_pool_controller_that_loses_responses_never_exceeds_the_replicas(
    client: Client, stock: StockPoolFixture
) -> None:
    lossy = LostAnswerClient(client, every=3)
    await stock.create_pool(20)
    async with (
        record_unit_counts(client, stock.namespace) as census,
        run_fake_unit_reconciler(stock),
    ):
        for turn in range(1, 4):
            await run_until_converged(lossy, stock, consumed=turn - 1)
            await disturb(stock, turn)
        await run_until_converged(lossy, stock, consumed=3)
        await census.wait_caught_up()
        assert census.max_unclaimed == 20
    assert lossy.lost_answers > 6


async def test_a_unit_that_is_claimed_before_its_deletion_is_kept(
    client: Client, stock: StockPoolFixture
) -> None:
    await stock.create_pool(2)
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.wait_unclaimed("warm-0", "warm-1")
    await stock.patch_pool(replicas=1)
    conflicting = ConflictingWriteClient(client, lambda: stock.claim_unit("warm-1"))
    async with InProcessStockPoolController(conflicting, stock.namespace).run():
        pool = await stock.wait_pool(lambda pool: pool.status.claimed)
        await stock.wait_unclaimed("warm-0")
    assert pool.status.claimed == ((await stock.get_unit("warm-1")).metadata.uid,)


async def test_the_count_of_another_leader_is_not_overwritten(
    client: Client, stock: StockPoolFixture
) -> None:
    await stock.create_pool(1)
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.wait_unclaimed("warm-0")
        await stock.claim_unit("warm-0")
        await stock.wait_pool(lambda pool: pool.status.claimed)
        await stock.wait_unclaimed("warm-1")
    await stock.consume_unit("warm-0")

    async def count_more() -> None:
        counted = {"allocated": 7, "claimed": None}
        await client.patch_status(STOCK_POOLS, stock.key, counted)

    conflicting = ConflictingWriteClient(client, count_more)
    async with InProcessStockPoolController(conflicting, stock.namespace).run():
        await stock.wait_pool(lambda pool: pool.status.allocated)
    assert conflicting.has_written
    assert (await stock.get_pool()).status.allocated == 7


@pytest.mark.parametrize("moment", CrashPoint)
async def test_a_pool_is_correct_after_its_controller_crashes_at_any_write(
    client: Client, stock: StockPoolFixture, moment: CrashPoint
) -> None:
    await stock.create_pool(3)
    async with (
        record_unit_counts(client, stock.namespace) as census,
        run_fake_unit_reconciler(stock),
    ):
        await run_until_converged(client, stock, consumed=0)
        turn = 1
        while await crashes(CrashingClient(client, turn, moment), stock, turn):
            await run_until_converged(client, stock, consumed=turn)
            turn += 1
        await census.wait_caught_up()
        assert census.max_unclaimed == 3
    assert turn > 6  # else the disturbance caused too few writes


async def crashes(writes: CrashingClient, stock: StockPoolFixture, turn: int) -> bool:
    """Return whether a controller that writes with `writes` dies during a disturbance."""
    await disturb(stock, turn)

    async def is_over() -> bool:
        return writes.is_dead or await has_converged(stock, turn)

    async with InProcessStockPoolController(writes, stock.namespace).run():
        await eventually(is_over)
    return writes.is_dead


async def run_until_converged(client: Client, stock: StockPoolFixture, consumed: int) -> None:
    """Run a controller until the pool has converged."""
    async with InProcessStockPoolController(client, stock.namespace).run():
        await eventually(lambda: has_converged(stock, consumed))


async def disturb(stock: StockPoolFixture, turn: int) -> None:
    """Claim a unit and change the resources.

    The controller then has to count, create and delete units.
    """
    await stock.claim_unit((await stock.unclaimed_names())[0])
    await stock.patch_pool(memory=f"{turn + 1}Gi")


async def has_converged(stock: StockPoolFixture, consumed: int) -> bool:
    """Return whether the pool is full of the right units and has counted each lost unit."""
    pool = await stock.get_pool()
    fresh = pool.status.observed_generation == pool.metadata.generation
    counted = (pool.status.allocated, pool.status.claimed) == (consumed, ())
    return fresh and counted and pool.status.phase == "Ready"
