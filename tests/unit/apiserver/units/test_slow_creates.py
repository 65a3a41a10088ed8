"""Tests of creates that cannot finish, and of creates that began late."""

import asyncio

import pytest

from apiserver.kube.port import ListOptions, Page
from apiserver.kube.resources import GPU_UNITS, Resource
from apiserver.operations.result import ResultKind
from apiserver.units.commands import CreateUnit
from apiserver.units.create import MAX_CONCURRENT_CREATES
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION, SOURCE_STOCK_UID_ANNOTATION
from tests.model.gateway import T
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE

UNIT = CreateUnit(operation_id="op", name="trainer", spec_name="g1.1", image="a:1")
CREATE_SECONDS = 27.0


@pytest.fixture
async def api() -> ModelApi:
    """Return an API whose operation stays unfinished, because its stray is not removed."""
    made = ModelApi(create_seconds=CREATE_SECONDS)
    made.add_stock("s")
    await made.run(made.replicas[0].units._creator.begin(UNIT))
    notes = {OPERATION_ID_ANNOTATION: "op", SOURCE_STOCK_UID_ANNOTATION: "another"}
    stray = {"metadata": {"name": "trainer", "annotations": notes}, "spec": {"specName": "g1.1"}}
    made.add_object(GPU_UNITS, INSTANCE_NAMESPACE, stray)
    return made


async def test_a_slow_stock_list_counts_towards_the_create_time_limit(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api._clients[0]
    quick = client.list

    async def slow(resource: Resource[T], namespace: str, selection: ListOptions) -> Page[T]:
        await api._scheduler.sleep(CREATE_SECONDS)
        return await quick(resource, namespace, selection)

    monkeypatch.setattr(client, "list", slow)
    accepted = await api.run(api.replicas[0].units.create(UNIT))

    assert accepted.kind is ResultKind.UNFINISHED


async def test_waiting_for_a_create_slot_counts_towards_the_create_time_limit(
    api: ModelApi,
) -> None:
    units = api.replicas[0].units

    async def others() -> None:
        for _ in range(MAX_CONCURRENT_CREATES):
            await units._creator._create_slots.acquire()
        await api._scheduler.sleep(CREATE_SECONDS)
        units._creator._create_slots.release()

    async def both() -> ResultKind:
        answer, _ = await asyncio.gather(later(), others())
        return answer

    async def later() -> ResultKind:
        await asyncio.sleep(0)  # the other creates came first
        return (await units.create(UNIT)).kind

    assert await api.run(both()) is ResultKind.UNFINISHED
