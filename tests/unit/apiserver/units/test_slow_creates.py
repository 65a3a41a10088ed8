"""Creations that cannot end, and that took long to begin."""

import asyncio

import pytest

from apiserver.commands import CreateUnit
from apiserver.kube.port import Page, Selection
from apiserver.kube.resources import GPU_UNITS, Resource
from apiserver.operations.result import Outcome
from apiserver.units.service import MOST_AT_ONCE
from shared.v1alpha1.wellknown import OPERATION_ID, SOURCE_STOCK_UID
from tests.model.gateway import T
from tests.model.model_api import ModelAPI
from tests.model.namespaces import INSTANCE

UNIT = CreateUnit(operation_id="op", name="trainer", spec_name="g1.1", image="a:1")
CREATE_SECONDS = 27.0


@pytest.fixture
async def api() -> ModelAPI:
    """Its operation is unfinished, and stays so: nobody removes the stray that has its name."""
    made = ModelAPI(create_seconds=CREATE_SECONDS)
    made.add_stock("s")
    await made.run(made.replicas[0].units._creation.begin(UNIT))
    notes = {OPERATION_ID: "op", SOURCE_STOCK_UID: "another"}
    stray = {"metadata": {"name": "trainer", "annotations": notes}, "spec": {"specName": "g1.1"}}
    made.add(GPU_UNITS, INSTANCE, stray)
    return made


async def test_a_slow_server_takes_of_the_time_for_the_outcome(
    api: ModelAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api._clients[0]
    quick = client.list

    async def slow(resource: Resource[T], namespace: str, selection: Selection) -> Page[T]:
        await api._turnstile.sleep(CREATE_SECONDS)
        return await quick(resource, namespace, selection)

    monkeypatch.setattr(client, "list", slow)
    accepted = await api.run(api.replicas[0].units.create(UNIT))

    assert accepted.outcome is Outcome.UNFINISHED


async def test_waiting_for_ones_turn_takes_of_it_too(api: ModelAPI) -> None:
    units = api.replicas[0].units

    async def others() -> None:
        for _ in range(MOST_AT_ONCE):
            await units._turns.acquire()
        await api._turnstile.sleep(CREATE_SECONDS)
        units._turns.release()

    async def both() -> Outcome:
        answer, _ = await asyncio.gather(later(), others())
        return answer

    async def later() -> Outcome:
        await asyncio.sleep(0)  # the others were there first
        return (await units.create(UNIT)).outcome

    assert await api.run(both()) is Outcome.UNFINISHED
