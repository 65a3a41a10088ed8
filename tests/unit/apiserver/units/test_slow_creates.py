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
    api = ModelApi(create_seconds=CREATE_SECONDS)
    api.add_stock("s")
    await api.run(api.replicas[0].units._creator.begin(UNIT))
    annotations = {OPERATION_ID_ANNOTATION: "op", SOURCE_STOCK_UID_ANNOTATION: "another"}
    metadata = {"name": "trainer", "annotations": annotations}
    stray = {"metadata": metadata, "spec": {"specName": "g1.1"}}
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, stray)
    return api


async def test_a_slow_stock_list_counts_towards_the_create_time_limit(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api._clients[0]
    list_at_once = client.list

    async def list_slowly(resource: Resource[T], namespace: str, selection: ListOptions) -> Page[T]:
        await api._scheduler.sleep(CREATE_SECONDS)
        return await list_at_once(resource, namespace, selection)

    monkeypatch.setattr(client, "list", list_slowly)
    result = await api.run(api.replicas[0].units.create(UNIT))

    assert result.kind is ResultKind.UNFINISHED


async def test_waiting_for_a_create_slot_counts_towards_the_create_time_limit(
    api: ModelApi,
) -> None:
    units = api.replicas[0].units

    async def hold_all_slots() -> None:
        for _ in range(MAX_CONCURRENT_CREATES):
            await units._creator._create_slots.acquire()
        await api._scheduler.sleep(CREATE_SECONDS)
        units._creator._create_slots.release()

    async def create_while_slots_are_held() -> ResultKind:
        kind, _ = await asyncio.gather(create_later(), hold_all_slots())
        return kind

    async def create_later() -> ResultKind:
        await asyncio.sleep(0)  # the other creates came first
        return (await units.create(UNIT)).kind

    assert await api.run(create_while_slots_are_held()) is ResultKind.UNFINISHED
