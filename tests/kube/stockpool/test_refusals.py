"""Pools whose units cannot be created, on a real server, and their recovery."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from controller.runtime.client.client import Client
from controller.runtime.loop.reconcile import Result
from controller.stockpool.permissions import RULES
from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.generate import rbac
from shared.v1alpha1.group import API_VERSION, GROUP
from tests.support.builders.config_maps import connect_client
from tests.support.builders.quotas import UNIT_COUNT, create_effective_quota
from tests.support.builders.stock_pool import StockPoolFixture
from tests.support.checks.event_notes import event_notes
from tests.support.cluster.stock_pool_controller import InProcessStockPoolController
from tests.support.faults.faulty_clients import CountingClient
from tests.support.wait.eventually import eventually

FIRST_THREE = ["warm-0", "warm-1", "warm-2"]


async def test_an_invalid_pool_spec_is_reported_and_changes_no_unit(
    stock: StockPoolFixture, controller: InProcessStockPoolController, admin: AdminClient
) -> None:
    async with controller.run():
        await stock.create_pool(1)
        await stock.wait_unclaimed("warm-0")
        uid = (await stock.get_unit("warm-0")).metadata.uid
        await stock.patch_pool(memory="lots", replicas=2)
        pool = await stock.wait_pool(lambda pool: pool.status.phase == "Failed")
        (note,) = await eventually(lambda: event_notes(admin, stock.namespace, "InvalidSpec"))
        assert (await stock.get_unit("warm-0")).metadata.uid == uid
        await stock.patch_pool(memory="1Gi")
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.wait_pool(lambda pool: pool.status.phase == "Progressing")
    (condition,) = pool.status.conditions
    assert (condition.reason, condition.message) == ("InvalidSpec", note)
    assert "memory" in note
    assert "lots" in note
    assert (await stock.get_unit("warm-0")).metadata.uid == uid


async def test_a_full_quota_is_reported_and_the_pool_recovers(
    stock: StockPoolFixture, controller: InProcessStockPoolController, admin: AdminClient
) -> None:
    quota = await create_effective_quota(admin, stock.namespace, max_units=1)
    async with controller.run():
        await stock.create_pool(3)
        pool = await stock.wait_pool(lambda pool: pool.status.phase == "Degraded")
        (note,) = await eventually(lambda: event_notes(admin, stock.namespace, "NotReady"))
        assert note == pool.status.conditions[0].message
        assert "exceeded quota" in note
        await admin.patch(quota, {"spec": {"hard": {UNIT_COUNT: "9"}}})
        await eventually(stock.unclaimed_names, lambda names: len(names) == 3)
        await stock.wait_pool(lambda pool: pool.status.phase == "Progressing")


async def test_units_rejected_by_the_server_are_reported_and_not_retried_endlessly(
    client: Client, stock: StockPoolFixture, admin: AdminClient
) -> None:
    counted = CountingClient(client)
    async with refusing_units(admin, stock.namespace):
        async with InProcessStockPoolController(counted, stock.namespace).run():
            await stock.create_pool(1)
            pool = await stock.wait_pool(lambda pool: pool.status.phase == "Failed")
            await eventually(lambda: event_notes(admin, stock.namespace, "InvalidSpec"))
        controller = InProcessStockPoolController(counted, stock.namespace)
        async with controller.run_caches():
            assert await controller.reconciler.reconcile(stock.key) == Result()
    assert "no units today" in pool.status.conditions[0].message
    async with InProcessStockPoolController(client, stock.namespace).run():
        await stock.wait_unclaimed("warm-0")


@asynccontextmanager
async def refusing_units(admin: AdminClient, namespace: str) -> AsyncIterator[None]:
    """Make the server refuse every new unit of the namespace as invalid inside the block."""
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


async def refused(admin: AdminClient, namespace: str) -> bool:
    """Return whether a new unit would be refused."""
    path = f"/apis/{API_VERSION}/namespaces/{namespace}/gpuunits"
    body = {
        "apiVersion": API_VERSION,
        "kind": "GPUUnit",
        "metadata": {"name": "try"},
        "spec": {"specName": "g1.1"},
    }
    try:
        await admin.request("POST", path, body, query={"dryRun": "All"})
    except ApiStatusError:
        return True
    return False


async def test_the_declared_permissions_are_enough(
    installed_control_plane: ControlPlane, stock: StockPoolFixture, admin: AdminClient
) -> None:
    await grant(admin, stock.namespace)
    async with (
        connect_client(installed_control_plane.layout.kubeconfig("controller")) as ours,
        InProcessStockPoolController(ours, stock.namespace).run(),
    ):
        await stock.create_pool(2)
        await stock.wait_unclaimed("warm-0", "warm-1")
        await stock.patch_pool(replicas=1)
        await stock.wait_unclaimed("warm-0")
        await stock.wait_pool(lambda pool: pool.status.replicas == 1)
        await eventually(lambda: event_notes(admin, stock.namespace, "ScaledDown"))


async def grant(admin: AdminClient, namespace: str) -> None:
    """Give the controller's account only the permissions that the work on pools needs."""
    held = rbac.merge_rules(replace(rule, namespace=namespace) for rule in RULES)
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await admin.create(f"{root}/roles", rbac.role("controller", namespace, held))
    await admin.create(f"{root}/rolebindings", rbac.role_binding("controller", namespace))
