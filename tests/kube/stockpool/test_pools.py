"""Pools at their size on a real server; the tests play the users and the units' controller."""

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client.client import Client
from hack.cluster.admin_client import AdminClient
from shared.v1alpha1.group import API_VERSION, GROUP
from shared.v1alpha1.wellknown import POOL_LABEL
from tests.support.builders.stock_pool import StockPoolFixture
from tests.support.checks.event_notes import event_notes
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController
from tests.support.faults.faulty_clients import CountingClient
from tests.support.wait.eventually import eventually

COUNTED = f"count/gpuunits.{GROUP}"
FIRST_THREE = ["warm-0", "warm-1", "warm-2"]


async def test_a_pool_is_filled_to_its_size_and_becomes_ready(
    stock: StockPoolFixture, controller: InProcessStockPoolController, admin: AdminClient
) -> None:
    async with controller.run():
        pool = await stock.create_pool(3, nodeSelector={"zone": "a"})
        await stock.wait_unclaimed(*FIRST_THREE)
        await stock.wait_pool(lambda pool: pool.status.phase == "Progressing")
        await stock.report_ready()
        ready = await stock.wait_pool(lambda pool: pool.status.phase == "Ready")
        notes = await eventually(lambda: event_notes(admin, stock.namespace, "ScaledUp"))
    unit = await stock.get_unit("warm-0")
    (owner,) = unit.metadata.owner_references
    assert (owner.uid, owner.controller, owner.block_owner_deletion) == (
        pool.metadata.uid,
        True,
        True,
    )
    assert (unit.spec.memory, unit.spec.gpu, unit.spec.node_selector) == ("1Gi", 1, {"zone": "a"})
    assert (ready.status.replicas, ready.status.available) == (3, 3)
    assert ready.status.selector == f"{POOL_LABEL}=warm"
    assert notes == ["created 3 units: warm-0, warm-1, warm-2"]


async def test_a_large_pool_is_filled_to_its_size(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(250)
        unit_names = await eventually(stock.unclaimed_names, lambda names: len(names) >= 250)
        await stock.wait_pool(lambda pool: pool.status.replicas == 250)
    assert len(unit_names) == len(await stock.unclaimed_names()) == 250


async def test_an_unchanged_pool_is_not_written(
    client: Client, namespace: str, stock: StockPoolFixture
) -> None:
    await stock.create_pool(2)
    async with InProcessStockPoolController(client, namespace).run():
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.report_ready()
        await stock.wait_pool(lambda pool: pool.status.phase == "Ready")
    counted = CountingClient(client)
    controller = InProcessStockPoolController(counted, namespace)
    async with controller.run_caches():
        await controller.reconciler.reconcile(stock.key)
    assert counted.writes == 0


async def test_units_that_were_never_ready_are_deleted_first(
    stock: StockPoolFixture, controller: InProcessStockPoolController, admin: AdminClient
) -> None:
    async with controller.run():
        await stock.create_pool(4)
        await stock.wait_unclaimed(*FIRST_THREE, "warm-3")
        await stock.report_ready("warm-1", "warm-3")
        await stock.wait_pool(lambda pool: pool.status.available == 2)
        await stock.patch_pool(replicas=2)
        await stock.wait_unclaimed("warm-1", "warm-3")
        notes = await eventually(lambda: event_notes(admin, stock.namespace, "ScaledDown"))
    assert notes == ["deleted 2 units: warm-0, warm-2"]


async def test_a_pool_is_scaled_through_its_scale_subresource(
    stock: StockPoolFixture, controller: InProcessStockPoolController, admin: AdminClient
) -> None:
    scale = f"/apis/{API_VERSION}/namespaces/{stock.namespace}/stockpools/warm/scale"
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        await admin.patch(scale, {"spec": {"replicas": 3}})
        await stock.wait_unclaimed(*FIRST_THREE)
        await admin.patch(scale, {"spec": {"replicas": 0}})
        await stock.wait_unclaimed()
        await stock.wait_pool(lambda pool: pool.status.phase == "ScaledToZero")
        current = await admin.get(scale)
    assert current["status"] == {"replicas": 0, "selector": f"{POOL_LABEL}=warm"}


async def test_the_number_of_starting_units_is_limited(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(3, maxUnavailable=1)
        await stock.wait_pool(lambda pool: pool.status.replicas == 1)
        await stock.report_ready()
        await stock.wait_pool(lambda pool: pool.status.replicas == 2)
        await stock.report_ready()
        await stock.wait_pool(lambda pool: pool.status.replicas == 3)


async def test_an_unschedulable_unit_is_reported_and_kept(
    stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    waiting = {
        "type": "Ready",
        "status": "False",
        "reason": "PodUnschedulable",
        "message": "0/4 nodes are available",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    }
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        uid = (await stock.get_unit("warm-0")).metadata.uid
        await stock.report_status("warm-0", phase="Progressing", conditions=[waiting])
        pool = await stock.wait_pool(lambda pool: pool.status.phase == "Degraded")
    (condition,) = pool.status.conditions
    assert (condition.reason, condition.message) == (
        "InsufficientNodes",
        "warm-0: 0/4 nodes are available",
    )
    assert (await stock.get_unit("warm-0")).metadata.uid == uid


async def test_the_name_of_another_unit_is_skipped(
    client: Client, stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    meta = {"namespace": stock.namespace, "name": "warm-0"}
    foreign = await client.create(GPU_UNITS, {"metadata": meta, "spec": {"specName": "g1.1"}})
    async with controller.run():
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-1", "warm-2")
    assert (await stock.get_unit("warm-0")).metadata == foreign.metadata


async def test_a_deleted_pool_deletes_its_unclaimed_units(
    client: Client, stock: StockPoolFixture, controller: InProcessStockPoolController
) -> None:
    async with controller.run():
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.claim_unit("warm-1")
        await stock.wait_unclaimed("warm-0", "warm-2")
        await client.delete(STOCK_POOLS, stock.key)
        # The garbage collector looks for new kinds every half minute.
        await eventually(stock.unclaimed_names, lambda names: not names)
    assert [unit.metadata.name for unit in await stock.units()] == ["warm-1"]
