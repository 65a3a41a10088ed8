"""Tests of an operationID that is used for another request after its operation was deleted."""

from typing import Any

import pytest

from apiserver.errors import AlreadyExistsError
from apiserver.kube.resources import GPU_UNITS, OPERATIONS
from apiserver.operations.result import ResultKind
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_units.commands import SeedStock
from apiserver.storages.commands import CreateStorage
from shared.v1alpha1 import names
from tests.model.model_api import ModelApi
from tests.model.namespaces import STOCK_NAMESPACE, SYSTEM_NAMESPACE

SMALL = SeedStock("op", "g1.1", 2, memory="1Gi", gpu=1)
LARGE = SeedStock("op", "g2.8", 2, memory="64Gi", gpu=8)


def pool(replicas: int) -> CreatePool:
    return CreatePool("op", "pool", "g1.1", PoolSettings(replicas=replicas, memory="1Gi"))


def sweep(api: ModelApi) -> None:
    api.server.delete(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op"), "", "")


async def seeded(api: ModelApi, command: SeedStock) -> dict[str, Any]:
    """Return the status of the operation after the seed has ended."""
    replica = api.replicas[0]

    async def both() -> None:
        await replica.stock.seed(command)
        await replica.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    await api.run(both())
    status: dict[str, Any] = api.server.get(
        OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op")
    )["status"]
    return status


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""


async def test_a_reused_operation_id_does_not_adopt_stock_of_an_earlier_seed() -> None:
    api = ModelApi()
    await seeded(api, SMALL)
    sweep(api)

    status = await seeded(api, LARGE)

    assert (status["phase"], status["created"]) == ("Failed", 0)
    assert status["message"].startswith("already_exists: ")
    again = await seeded(api, LARGE)
    assert (again["phase"], again["attempt"]) == ("Failed", 1)
    earlier = api.server.get(GPU_UNITS, STOCK_NAMESPACE, names.stock_unit_name("op", 0))
    assert earlier["spec"]["specName"] == "g1.1"
    assert "runtime.lokiwager.io/attempt" not in earlier["metadata"]["annotations"]


async def test_stock_of_the_same_request_is_still_its_own() -> None:
    api = ModelApi()
    first = await seeded(api, SMALL)
    sweep(api)

    assert (await seeded(api, SMALL))["objects"] == first["objects"]


async def test_a_reused_operation_id_does_not_adopt_a_pool_of_an_earlier_request() -> None:
    api = ModelApi()
    create = api.replicas[0].pools.create
    await api.run(create(pool(1)))
    sweep(api)

    with pytest.raises(AlreadyExistsError):
        await api.run(create(pool(2)))


async def test_a_storage_of_the_same_request_is_still_its_own() -> None:
    api = ModelApi()
    create = api.replicas[0].storages.create
    await api.run(create(CreateStorage("op", "data", "1Gi")))
    sweep(api)

    again = await api.run(create(CreateStorage("op", "data", "1Gi")))
    assert again.kind is ResultKind.NEW
