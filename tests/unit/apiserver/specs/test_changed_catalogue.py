"""Tests of a changed catalogue: a replay gets the same result as under the old one."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from apiserver.errors import ConflictError, InvalidRequestError, OperationConflictError
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.specs.catalogue import Catalogue, CatalogueEntry
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_units.commands import SeedStock
from apiserver.wiring import KubeServices
from shared.v1alpha1.unit_resources import UnitResources
from tests.model.model_api import ModelApi

Request = Callable[[KubeServices], Coroutine[Any, Any, OperationResult[Any]]]

CATALOGUE = Catalogue({"g1.1": CatalogueEntry(UnitResources(spec_name="g1.1", memory="1Gi"))})
CHANGED_CATALOGUE = Catalogue(
    {"g1.1": CatalogueEntry(UnitResources(spec_name="g1.1", memory="2Gi"))}
)


def seed(memory: str | None) -> Request:
    return lambda replica: replica.stock.seed(SeedStock("s-1", "g1.1", 1, memory=memory))


def pool(memory: str | None) -> Request:
    settings = PoolSettings(replicas=1, memory=memory)
    return lambda replica: replica.pools.create(CreatePool("s-1", "pool", "g1.1", settings))


@pytest.mark.parametrize("request_for", [seed, pool])
@pytest.mark.parametrize(
    ("memory", "changed", "refusal"),
    [("1Gi", CHANGED_CATALOGUE, ConflictError), (None, Catalogue(), InvalidRequestError)],
)
async def test_a_replay_succeeds_after_a_change_of_the_catalogue(
    request_for: Callable[[str | None], Request],
    memory: str | None,
    changed: Catalogue,
    refusal: type[Exception],
) -> None:
    api, request = ModelApi(), request_for(memory)
    api.restart(changed)
    with pytest.raises(refusal):
        await api.run(request(api.replicas[0]))
    api.restart(CATALOGUE)
    assert (await api.run(request(api.replicas[0]))).kind is ResultKind.NEW

    api.restart(changed)

    assert (await api.run(request(api.replicas[0]))).kind is ResultKind.REPLAY
    with pytest.raises(OperationConflictError):
        await api.run(request_for("3Gi")(api.replicas[0]))
