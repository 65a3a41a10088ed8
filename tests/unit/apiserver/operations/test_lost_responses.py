"""Tests of creates that took effect although their response was lost, and then exceed a quota."""

import pytest

from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject
from apiserver.kube.resources import GPU_UNITS, OPERATIONS, Resource
from apiserver.operations.result import ResultKind
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from apiserver.wiring import KubeServices
from shared.v1alpha1 import names
from tests.model.gateway import ModelGateway, T
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE, SYSTEM_NAMESPACE

UNIT = CreateUnit(operation_id="op", name="trainer", spec_name="g1.1", image="a:1")
SEED = SeedStock("op", "g1.1", 3, memory="1Gi")
POOL = CreatePool("op", "pool", "g1.1", PoolSettings(replicas=1, memory="1Gi"))


class QuotaServer:
    """API server with a quota, which loses the response to the last create that fits.

    The server checks the quota before the name, as a real server does.
    """

    def __init__(self, gateway: ModelGateway, quota: int) -> None:
        self._create = gateway.create
        self._quota = quota

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        if resource.kind == OPERATIONS.kind:
            return await self._create(resource, namespace, body)
        if not self._quota:
            raise kube_errors.QuotaExceededError("403", "exceeded quota: few")
        self._quota -= 1
        is_last = not self._quota
        obj = await self._create(resource, namespace, body)
        if is_last:
            raise kube_errors.ServerError("500")
        return obj


@pytest.fixture
def api() -> ModelApi:
    api = ModelApi()
    api.add_stock("s")
    return api


def limit_creates(api: ModelApi, monkeypatch: pytest.MonkeyPatch, quota: int) -> KubeServices:
    client = api._clients[0]
    monkeypatch.setattr(client, "create", QuotaServer(client, quota).create)
    return api.replicas[0]


async def test_a_unit_whose_create_response_was_lost_belongs_to_the_operation(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await api.run(limit_creates(api, monkeypatch, 1).units.create(UNIT))

    assert result.kind is ResultKind.NEW


async def test_a_unit_create_refused_by_a_quota_stays_refused(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConflictError, match="exceeded quota: few"):
        await api.run(limit_creates(api, monkeypatch, 0).units.create(UNIT))
    assert (GPU_UNITS.plural, INSTANCE_NAMESPACE, "trainer") not in api.server.objects


async def test_a_pool_whose_create_response_was_lost_belongs_to_the_operation(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await api.run(limit_creates(api, monkeypatch, 1).pools.create(POOL))

    assert result.kind is ResultKind.NEW


@pytest.mark.parametrize(("quota", "phase"), [(3, "Succeeded"), (2, "Failed")])
async def test_stock_whose_create_response_was_lost_belongs_to_the_seed(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch, quota: int, phase: str
) -> None:
    replica = limit_creates(api, monkeypatch, quota)

    async def seed_and_join() -> None:
        await replica.stock.seed(SEED)
        await replica.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    await api.run(seed_and_join())
    operation = api.server.get(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op"))
    assert (operation["status"]["phase"], operation["status"]["created"]) == (phase, quota)


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""
