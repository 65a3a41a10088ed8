"""Pools on a real server; the tests play users, claims and the reconciler of the units."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client import Client
from controller.runtime.reconcile import Result
from controller.stockpool.permissions import RULES
from hack.cluster.admin import Admin, RefusedError
from hack.cluster.controlplane import ControlPlane
from hack.generate import rbac
from shared.v1alpha1.group import API_VERSION, GROUP
from shared.v1alpha1.stockpool import StockPool
from shared.wellknown import POOL_LABEL
from tests.support.eventually import eventually
from tests.support.failing_client import CountingClient
from tests.support.library import client_of
from tests.support.pool_keeper import PoolKeeper
from tests.support.stock import Stock

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


async def has(stock: Stock, *expected: str) -> None:
    """The pool comes to have exactly these unclaimed units."""
    await eventually(stock.unclaimed, lambda found: found == list(expected))


async def says(stock: Stock, is_right: Callable[[StockPool], object]) -> StockPool:
    """The pool comes to say what is right."""
    return await eventually(stock.pool, is_right)


async def told(admin: Admin, namespace: str, reason: str) -> list[str]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    events = (await admin.get(path))["items"]
    return [event["note"] for event in events if event["reason"] == reason]


async def test_a_pool_is_filled_to_its_size_and_becomes_ready(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    async with keeper.keeping():
        pool = await stock.ask(3, nodeSelector={"zone": "a"})
        await has(stock, *FIRST_THREE)
        await says(stock, lambda pool: pool.status.phase == "Progressing")
        await stock.start()
        ready = await says(stock, lambda pool: pool.status.phase == "Ready")
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
        await says(stock, lambda pool: pool.status.replicas == 250)
    assert len(found) == len(await stock.unclaimed()) == 250


async def test_a_pool_at_rest_is_not_written_to(
    client: Client, namespace: str, stock: Stock
) -> None:
    await stock.ask(2)
    async with PoolKeeper(client, namespace).keeping():
        await has(stock, "warm-0", "warm-1")
        await stock.start()
        await says(stock, lambda pool: pool.status.phase == "Ready")
    counted = CountingClient(client)
    keeper = PoolKeeper(counted, namespace)
    async with keeper.looking():
        await keeper.reconciler.reconcile(stock.key)
    assert counted.writes == 0


async def test_a_claimed_unit_is_replaced(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(3)
        await has(stock, *FIRST_THREE)
        claimed = await stock.claim("warm-1")
        await has(stock, "warm-0", "warm-2", "warm-3")
        pool = await says(stock, lambda pool: pool.status.claimed)
    assert (pool.status.claimed, pool.status.allocated) == ((claimed.metadata.uid,), 0)


async def test_a_consumed_unit_is_counted_once(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await has(stock, "warm-0", "warm-1")
        await stock.claim("warm-0")
        await says(stock, lambda pool: pool.status.claimed)
        await stock.consume("warm-0")
        pool = await says(stock, lambda pool: not pool.status.claimed)
        assert pool.status.allocated == 1
        await stock.claim("warm-1")
        await has(stock, "warm-0", "warm-2")
        await says(stock, lambda pool: pool.status.claimed)
    assert (await stock.pool()).status.allocated == 1


async def test_a_unit_consumed_while_nobody_looked_is_counted(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(1)
        await has(stock, "warm-0")
        await stock.claim("warm-0")
        await says(stock, lambda pool: pool.status.claimed)
    await stock.consume("warm-0")
    async with PoolKeeper(client, stock.namespace).keeping():
        pool = await says(stock, lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 1


async def test_a_released_unit_is_not_counted_and_the_pool_shrinks_back(
    stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await has(stock, "warm-0", "warm-1")
        await stock.start()
        await stock.claim("warm-0")
        await has(stock, "warm-1", "warm-2")
        await says(stock, lambda pool: pool.status.claimed)
        await stock.release("warm-0")
        await has(stock, "warm-0", "warm-1")  # warm-2 was never ready
        pool = await says(stock, lambda pool: not pool.status.claimed)
    assert pool.status.allocated == 0


async def test_never_ready_units_go_first(stock: Stock, keeper: PoolKeeper, admin: Admin) -> None:
    async with keeper.keeping():
        await stock.ask(4)
        await has(stock, *FIRST_THREE, "warm-3")
        await stock.start("warm-1", "warm-3")
        await says(stock, lambda pool: pool.status.available == 2)
        await stock.change(replicas=2)
        await has(stock, "warm-1", "warm-3")
        removed = await eventually(lambda: told(admin, stock.namespace, "ScaledDown"))
    assert removed == ["removed 2 units: warm-0, warm-2"]


async def test_a_pool_is_scaled_as_kubectl_does_it(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    scale = f"/apis/{API_VERSION}/namespaces/{stock.namespace}/stockpools/warm/scale"
    async with keeper.keeping():
        await stock.ask(1)
        await has(stock, "warm-0")
        await admin.patch(scale, {"spec": {"replicas": 3}})
        await has(stock, *FIRST_THREE)
        await admin.patch(scale, {"spec": {"replicas": 0}})
        await has(stock)
        await says(stock, lambda pool: pool.status.phase == "ScaledToZero")
        seen = await admin.get(scale)
    assert seen["status"] == {"replicas": 0, "selector": f"{POOL_LABEL}=warm"}


async def test_starts_are_bounded(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(3, maxUnavailable=1)
        await says(stock, lambda pool: pool.status.replicas == 1)
        await stock.start()
        await says(stock, lambda pool: pool.status.replicas == 2)
        await stock.start()
        await says(stock, lambda pool: pool.status.replicas == 3)


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
        await has(stock, "warm-0")
        uid = (await stock.unit("warm-0")).metadata.uid
        await stock.report("warm-0", phase="Progressing", conditions=[waiting])
        pool = await says(stock, lambda pool: pool.status.phase == "Degraded")
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
        await has(stock, "warm-1", "warm-2")
    assert (await stock.unit("warm-0")).metadata == foreign.metadata


async def test_a_deleted_pool_takes_its_unclaimed_units_along(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    async with keeper.keeping():
        await stock.ask(2)
        await has(stock, "warm-0", "warm-1")
        await stock.claim("warm-1")
        await has(stock, "warm-0", "warm-2")
        await client.delete(STOCK_POOLS, stock.key)
        # The garbage collector looks for new kinds every half minute.
        await eventually(stock.unclaimed, lambda found: not found, seconds=90)
    assert [unit.metadata.name for unit in await stock.units()] == ["warm-1"]


async def test_a_pool_that_is_being_deleted_counts_claims_and_gets_no_more_units(
    client: Client, stock: Stock, keeper: PoolKeeper
) -> None:
    held: dict[str, Any] = {"metadata": {"finalizers": ["example.com/held"]}}
    async with keeper.keeping():
        await stock.ask(1)
        await has(stock, "warm-0")
        await client.patch(STOCK_POOLS, stock.key, held)
        await client.delete(STOCK_POOLS, stock.key)
        await stock.claim("warm-0")
        await says(stock, lambda pool: pool.status.claimed)  # or the claim would wait for ever
    assert await stock.unclaimed() == []
    await client.patch(STOCK_POOLS, stock.key, {"metadata": {"finalizers": None}})


async def test_the_declared_permissions_are_enough(
    installed: ControlPlane, stock: Stock, admin: Admin
) -> None:
    await grant(admin, stock.namespace)
    async with (
        client_of(installed.layout.kubeconfig("controller")) as ours,
        PoolKeeper(ours, stock.namespace).keeping(),
    ):
        await stock.ask(2)
        await has(stock, "warm-0", "warm-1")
        await stock.change(replicas=1)
        await has(stock, "warm-0")
        await says(stock, lambda pool: pool.status.replicas == 1)
        await eventually(lambda: told(admin, stock.namespace, "ScaledDown"))


async def grant(admin: Admin, namespace: str) -> None:
    """Give the controller's account what the work on pools asks for, and no more."""
    held = rbac.merged(replace(rule, namespace=namespace) for rule in RULES)
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await admin.create(f"{root}/roles", rbac.role("controller", namespace, held))
    await admin.create(f"{root}/rolebindings", rbac.binding("controller", namespace))


async def test_a_wrong_spec_is_told_of_and_harms_nothing_until_it_is_mended(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    async with keeper.keeping():
        await stock.ask(1)
        await has(stock, "warm-0")
        uid = (await stock.unit("warm-0")).metadata.uid
        await stock.change(memory="lots", replicas=2)
        pool = await says(stock, lambda pool: pool.status.phase == "Failed")
        (note,) = await eventually(lambda: told(admin, stock.namespace, "InvalidSpec"))
        assert (await stock.unit("warm-0")).metadata.uid == uid
        await stock.change(memory="1Gi")
        await has(stock, "warm-0", "warm-1")
        await says(stock, lambda pool: pool.status.phase == "Progressing")
    (said,) = pool.status.conditions
    assert (said.reason, said.message) == ("InvalidSpec", note)
    assert "memory" in note
    assert "lots" in note
    assert (await stock.unit("warm-0")).metadata.uid == uid


async def test_claims_are_counted_while_the_spec_is_wrong(stock: Stock, keeper: PoolKeeper) -> None:
    async with keeper.keeping():
        await stock.ask(1)
        await has(stock, "warm-0")
        await stock.change(memory="lots")
        await stock.claim("warm-0")
        await says(stock, lambda pool: pool.status.claimed)
        await stock.consume("warm-0")
        await says(stock, lambda pool: pool.status.allocated == 1)


async def test_a_quota_that_refuses_is_told_of_and_survived(
    stock: Stock, keeper: PoolKeeper, admin: Admin
) -> None:
    quota = await effective_quota(admin, stock.namespace)
    async with keeper.keeping():
        await stock.ask(3)
        pool = await says(stock, lambda pool: pool.status.phase == "Degraded")
        assert "exceeded quota" in pool.status.conditions[0].message
        await admin.patch(quota, {"spec": {"hard": {COUNTED: "9"}}})
        await eventually(stock.unclaimed, lambda found: len(found) == 3, seconds=60)
        await says(stock, lambda pool: pool.status.phase == "Progressing")


async def effective_quota(admin: Admin, namespace: str) -> str:
    """The path of a quota of one unit that the server holds everybody to.

    One that is made before the controller manager has heard of the kind is looked at again only
    after minutes, so another is made.
    """
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    path, body = f"{quotas}/few", {"metadata": {"name": "few"}, "spec": {"hard": {COUNTED: "1"}}}
    for _ in range(60):
        await admin.create(quotas, body)
        try:
            await eventually(lambda: admin.get(path), is_counting, seconds=2)
        except AssertionError:
            await admin.delete(path)
        else:
            return path
    raise AssertionError("no quota became effective")


def is_counting(quota: Mapping[str, Any]) -> bool:
    return COUNTED in quota["status"].get("used", {})


async def test_units_that_the_server_finds_wrong_are_told_of_and_not_tried_for_ever(
    client: Client, stock: Stock, admin: Admin
) -> None:
    counted = CountingClient(client)
    async with refusing_units(admin, stock.namespace):
        async with PoolKeeper(counted, stock.namespace).keeping():
            await stock.ask(1)
            pool = await says(stock, lambda pool: pool.status.phase == "Failed")
            await eventually(lambda: told(admin, stock.namespace, "InvalidSpec"))
        keeper = PoolKeeper(counted, stock.namespace)
        async with keeper.looking():
            assert await keeper.reconciler.reconcile(stock.key) == Result()
    assert "no units today" in pool.status.conditions[0].message
    async with PoolKeeper(client, stock.namespace).keeping():
        await has(stock, "warm-0")


@asynccontextmanager
async def refusing_units(admin: Admin, namespace: str) -> AsyncIterator[None]:
    """The server finds every new unit of the namespace invalid for the length of the block."""
    api, name = "/apis/admissionregistration.k8s.io/v1", f"refuse-{namespace}"
    policy = {
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [
                {
                    "apiGroups": [GROUP],
                    "apiVersions": ["*"],
                    "resources": ["gpuunits"],
                    "operations": ["CREATE"],
                }
            ],
        },
        "validations": [{"expression": "false", "message": "no units today"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    kinds = {"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding}
    for plural, spec in kinds.items():
        await admin.create(f"{api}/{plural}", {"metadata": {"name": name}, "spec": spec})
    try:
        await eventually(lambda: refused(admin, namespace))
        yield
    finally:
        for plural in kinds:
            await admin.delete(f"{api}/{plural}/{name}")
        await eventually(lambda: refused(admin, namespace), lambda refusal: not refusal)


async def refused(admin: Admin, namespace: str) -> bool:
    """Whether a new unit would be refused."""
    path = f"/apis/{API_VERSION}/namespaces/{namespace}/gpuunits"
    body = {
        "apiVersion": API_VERSION,
        "kind": "GPUUnit",
        "metadata": {"name": "try"},
        "spec": {"specName": "g1.1"},
    }
    try:
        await admin.request("POST", path, body, query={"dryRun": "All"})
    except RefusedError:
        return True
    return False
