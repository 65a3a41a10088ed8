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


class Narrow:
    """API server with a quota, which loses the response to the last create that fits.

    The server checks the quota before the name, as a real server does.
    """

    def __init__(self, behind: ModelGateway, room: int) -> None:
        self._create = behind.create
        self._room = room

    async def create(self, resource: Resource[T], namespace: str, body: JsonObject) -> T:
        if resource.kind == OPERATIONS.kind:
            return await self._create(resource, namespace, body)
        if not self._room:
            raise kube_errors.QuotaExceededError("403", "exceeded quota: few")
        self._room -= 1
        is_last = not self._room
        made = await self._create(resource, namespace, body)
        if is_last:
            raise kube_errors.ServerError("500")
        return made


@pytest.fixture
def api() -> ModelApi:
    made = ModelApi()
    made.add_stock("s")
    return made


def narrow(api: ModelApi, monkeypatch: pytest.MonkeyPatch, room: int) -> KubeServices:
    client = api._clients[0]
    monkeypatch.setattr(client, "create", Narrow(client, room).create)
    return api.replicas[0]


async def test_a_unit_whose_create_answer_was_lost_belongs_to_the_operation(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await api.run(narrow(api, monkeypatch, 1).units.create(UNIT))

    assert made.kind is ResultKind.NEW


async def test_a_unit_create_refused_by_a_quota_stays_refused(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConflictError, match="exceeded quota: few"):
        await api.run(narrow(api, monkeypatch, 0).units.create(UNIT))
    assert (GPU_UNITS.plural, INSTANCE_NAMESPACE, "trainer") not in api.server.objects


async def test_a_pool_whose_create_answer_was_lost_belongs_to_the_operation(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await api.run(narrow(api, monkeypatch, 1).pools.create(POOL))

    assert made.kind is ResultKind.NEW


@pytest.mark.parametrize(("room", "phase"), [(3, "Succeeded"), (2, "Failed")])
async def test_stock_whose_create_answer_was_lost_belongs_to_the_seed(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch, room: int, phase: str
) -> None:
    replica = narrow(api, monkeypatch, room)

    async def seeded() -> None:
        await replica.stock.seed(SEED)
        await replica.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    await api.run(seeded())
    record = api.server.get(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op"))
    assert (record["status"]["phase"], record["status"]["created"]) == (phase, room)


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""
