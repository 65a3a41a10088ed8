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


def pool_command(replicas: int) -> CreatePool:
    return CreatePool("op", "pool", "g1.1", PoolSettings(replicas=replicas, memory="1Gi"))


def delete_operation(api: ModelApi) -> None:
    api.server.delete(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op"), "", "")


async def finish_seed(api: ModelApi, command: SeedStock) -> dict[str, Any]:
    """Return the status of the operation after the seed has ended."""
    replica = api.replicas[0]

    async def seed_and_join() -> None:
        await replica.stock.seed(command)
        await replica.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    await api.run(seed_and_join())
    status: dict[str, Any] = api.server.get(
        OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op")
    )["status"]
    return status


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""


async def test_a_reused_operation_id_does_not_adopt_stock_of_an_earlier_seed() -> None:
    api = ModelApi()
    await finish_seed(api, SMALL)
    delete_operation(api)

    status = await finish_seed(api, LARGE)

    assert (status["phase"], status["created"]) == ("Failed", 0)
    assert status["message"].startswith("already_exists: ")
    second_status = await finish_seed(api, LARGE)
    assert (second_status["phase"], second_status["attempt"]) == ("Failed", 1)
    stock_unit = api.server.get(GPU_UNITS, STOCK_NAMESPACE, names.stock_unit_name("op", 0))
    assert stock_unit["spec"]["specName"] == "g1.1"
    assert "runtime.lokiwager.io/attempt" not in stock_unit["metadata"]["annotations"]


async def test_a_repeated_seed_adopts_the_stock_of_its_deleted_operation() -> None:
    api = ModelApi()
    first = await finish_seed(api, SMALL)
    delete_operation(api)

    assert (await finish_seed(api, SMALL))["objects"] == first["objects"]


async def test_a_reused_operation_id_does_not_adopt_a_pool_of_an_earlier_request() -> None:
    api = ModelApi()
    create = api.replicas[0].pools.create
    await api.run(create(pool_command(1)))
    delete_operation(api)

    with pytest.raises(AlreadyExistsError):
        await api.run(create(pool_command(2)))


async def test_a_repeated_create_adopts_the_storage_of_its_deleted_operation() -> None:
    api = ModelApi()
    create = api.replicas[0].storages.create
    await api.run(create(CreateStorage("op", "data", "1Gi")))
    delete_operation(api)

    result = await api.run(create(CreateStorage("op", "data", "1Gi")))
    assert result.kind is ResultKind.NEW
