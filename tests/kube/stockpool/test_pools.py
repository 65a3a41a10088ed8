"""Pools are kept at their size on a real server; the tests play users and the units."""

from collections.abc import AsyncIterator

import pytest

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client.client import Client
from hack.cluster.admin_client import Admin
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.group import API_VERSION, GROUP
from shared.v1alpha1.wellknown import POOL_LABEL
from tests.support.builders.config_maps import client_of
from tests.support.builders.stock_pool import Stock
from tests.support.checks.event_notes import told
from tests.support.cluster.stock_pool_controller import PoolKeeper
from tests.support.faults.crashing_clients import CountingClient
from tests.support.wait.eventually import eventually

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


async def test_a_pool_is_filled_to_its_size_and_becomes_ready(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    async with keeper.keeping():
        pool = await stock.ask(3, nodeSelector={"zone": "a"})
        await stock.has(*FIRST_THREE)
        await stock.says(lambda pool: pool.status.phase == "Progressing")
        await stock.start()
        ready = await stock.says(lambda pool: pool.status.phase == "Ready")
        made = await eventually(lambda: told(admin, stock.namespace, "ScaledUp"))
    unit = await stock.unit("warm-0")
    (owner,) = unit.metadata.owner_references
    assert (owner.uid, owner.controller, owner.block_owner_deletion) == (
        pool.metadata.uid,
        True,
        True,
    )
    assert (unit.spec.memory, unit.spec.gpu, unit.spec.node_selector) == ("1Gi", 1, {"zone": "a"})
    assert (ready.status.replicas, ready.status.available) == (3, 3)
    assert ready.status.selector == f"{POOL_LABEL}=warm"
    assert made == ["made 3 units: warm-0, warm-1, warm-2"]


async def test_a_large_pool_is_filled_to_its_size(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(250)
        found = await eventually(stock.unclaimed, lambda found: len(found) >= 250)
        await stock.says(lambda pool: pool.status.replicas == 250)
    assert len(found) == len(await stock.unclaimed()) == 250


async def test_a_pool_at_rest_is_not_written_to(
    client: Client, namespace: str, stock: Stock
) -> None:
    await stock.ask(2)
    async with PoolKeeper(client, namespace).keeping():
        await stock.has("warm-0", "warm-1")
        await stock.start()
        await stock.says(lambda pool: pool.status.phase == "Ready")
    counted = CountingClient(client)
    keeper = PoolKeeper(counted, namespace)
    async with keeper.looking():
        await keeper.reconciler.reconcile(stock.key)
    assert counted.writes == 0


async def test_never_ready_units_go_first(stock: Stock, keeper: PoolKeeper, admin: Admin) -> None:
    async with keeper.keeping():
        await stock.ask(4)
        await stock.has(*FIRST_THREE, "warm-3")
        await stock.start("warm-1", "warm-3")
        await stock.says(lambda pool: pool.status.available == 2)
        await stock.change(replicas=2)
        await stock.has("warm-1", "warm-3")
        removed = await eventually(lambda: told(admin, stock.namespace, "ScaledDown"))
    assert removed == ["removed 2 units: warm-0, warm-2"]


async def test_a_pool_is_scaled_as_kubectl_does_it(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    scale = f"/apis/{API_VERSION}/namespaces/{stock.namespace}/stockpools/warm/scale"
    async with keeper.keeping():
        await stock.ask(1)
        await stock.has("warm-0")
        await admin.patch(scale, {"spec": {"replicas": 3}})
        await stock.has(*FIRST_THREE)
        await admin.patch(scale, {"spec": {"replicas": 0}})
        await stock.has()
        await stock.says(lambda pool: pool.status.phase == "ScaledToZero")
        seen = await admin.get(scale)
    assert seen["status"] == {"replicas": 0, "selector": f"{POOL_LABEL}=warm"}


async def test_starts_are_bounded(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(3, maxUnavailable=1)
        await stock.says(lambda pool: pool.status.replicas == 1)
        await stock.start()
        await stock.says(lambda pool: pool.status.replicas == 2)
        await stock.start()
        await stock.says(lambda pool: pool.status.replicas == 3)


async def test_a_unit_that_finds_no_node_is_told_of_and_kept(
    stock: Stock, keeper: PoolKeeper
) -> None:
    waiting = {
        "type": "Ready",
        "status": "False",
        "reason": "PodUnschedulable",
        "message": "0/4 nodes are available",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    }
    async with keeper.keeping():
        await stock.ask(1)
        await stock.has("warm-0")
        uid = (await stock.unit("warm-0")).metadata.uid
        await stock.report("warm-0", phase="Progressing", conditions=[waiting])
        pool = await stock.says(lambda pool: pool.status.phase == "Degraded")
    (said,) = pool.status.conditions
    assert (said.reason, said.message) == ("InsufficientNodes", "warm-0: 0/4 nodes are available")
    assert (await stock.unit("warm-0")).metadata.uid == uid


async def test_a_name_that_another_unit_has_is_passed_over(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    meta = {"namespace": stock.namespace, "name": "warm-0"}
    foreign = await client.create(GPU_UNITS, {"metadata": meta, "spec": {"specName": "g1.1"}})
    async with keeper.keeping():
        await stock.ask(2)
        await stock.has("warm-1", "warm-2")
    assert (await stock.unit("warm-0")).metadata == foreign.metadata


async def test_a_deleted_pool_takes_its_unclaimed_units_along(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await stock.has("warm-0", "warm-1")
        await stock.claim("warm-1")
        await stock.has("warm-0", "warm-2")
        await client.delete(STOCK_POOLS, stock.key)
        # The garbage collector looks for new kinds every half minute.
        await eventually(stock.unclaimed, lambda found: not found)
    assert [unit.metadata.name for unit in await stock.units()] == ["warm-1"]
