"""Tests of a failed create that is sent again while the controller cleans up its leftovers."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from apiserver.errors import InsufficientCapacityError
from apiserver.kube import errors as kube_errors
from apiserver.kube.resources import GPU_UNITS, OPERATIONS
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.units.commands import CreateUnit
from controller.gpuunit.handoff import claim_validity
from controller.gpuunit.handoff.handoff_check import HandoffDecision, check_handoff
from controller.gpuunit.source_stock import source_stock_of
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from tests.model.controller import ModelController
from tests.model.gateway import ModelGateway, decode_object
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE

NAMED = CreateUnit(
    operation_id="op", name="trainer", spec_name="g1.1", image="a:1", stock_name="s-0"
)
ANY = CreateUnit(operation_id="op", name="trainer", spec_name="g1.1", image="a:1")
RECORD = names.operation_name("op")


def stock(api: ModelApi, name: str) -> GPUUnit:
    return decode_object(GPU_UNITS, api.server.get(GPU_UNITS, STOCK_NAMESPACE, name))


async def failed(command: CreateUnit) -> ModelApi:
    """Run an operation that creates a unit from `s-0`; fail it and release its stock claim."""
    api = ModelApi()
    api.add_stock("s-0")
    await api.run(api.replicas[0].units.create(command))
    status = {"phase": "Failed", "message": "conflict: exceeded quota", "objects": None}
    api.server.patch(OPERATIONS, SYSTEM_NAMESPACE, RECORD, {"status": status}, "status")
    released = claim_validity.claim_release_patch(stock(api, "s-0"), None)
    api.server.patch(GPU_UNITS, STOCK_NAMESPACE, "s-0", released, "")
    return api


async def again(api: ModelApi, command: CreateUnit) -> OperationResult[Any]:
    """Return the answer to the restart, while a controller runs beside it."""

    async def both() -> OperationResult[Any]:
        controller = ModelController(api._clients[0], api._scheduler, Random(0))
        async with asyncio.TaskGroup() as group:
            beside = group.create_task(controller.run())
            accepted = await api.replicas[0].units.create(command)
            beside.cancel()
        return accepted

    return await api.run(both())


def entry(api: ModelApi, unit: GPUUnit) -> HandoffDecision:
    """Return the controller's hand-off decision about the unit."""
    source = source_stock_of(unit)
    assert source is not None
    record = decode_object(OPERATIONS, api.server.get(OPERATIONS, SYSTEM_NAMESPACE, RECORD))
    return check_handoff(unit, source, record, stock(api, source.name)).decision


async def test_a_restarted_create_claims_its_stock_again() -> None:
    api = await failed(ANY)

    accepted = await api.run(api.replicas[0].units.create(ANY))

    assert accepted.kind is ResultKind.NEW
    assert isinstance(accepted.value, GPUUnit)
    assert entry(api, accepted.value) is HandoffDecision.ADMITTED


async def test_a_restarted_create_takes_other_stock_if_its_own_is_lost() -> None:
    api = await failed(ANY)
    left = api.server.get(GPU_UNITS, INSTANCE_NAMESPACE, "trainer")["metadata"]["uid"]
    api.server.delete(GPU_UNITS, STOCK_NAMESPACE, "s-0", "", "")
    api.add_stock("s-1")

    accepted = await again(api, ANY)

    assert accepted.kind is ResultKind.NEW
    assert accepted.value.metadata.uid != left
    assert source_stock_of(accepted.value).name == "s-1"  # type: ignore[union-attr]


async def test_a_restarted_create_is_refused_if_its_named_stock_is_lost() -> None:
    api = await failed(NAMED)
    api.server.delete(GPU_UNITS, STOCK_NAMESPACE, "s-0", "", "")
    api.add_stock("s-1")

    with pytest.raises(InsufficientCapacityError):
        await api.run(api.replicas[0].units.create(NAMED))


async def test_a_restarted_create_is_new_although_the_answer_to_its_restart_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = await failed(ANY)
    lose_the_first_answer(api._clients[0], "patch", monkeypatch)

    assert (await api.run(api.replicas[0].units.create(ANY))).kind is ResultKind.NEW
    assert (await api.run(api.replicas[0].units.create(ANY))).kind is ResultKind.REPLAY


async def test_a_create_is_new_although_others_have_ended_it_before_its_record_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ModelApi(replicas=2)
    api.add_stock("s-0")
    other = api.replicas[1]

    async def resumed() -> None:
        known = await other.resumer.resume_unfinished(set())
        await other.resumer.resume_unfinished(known)
        await other.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    lose_the_first_answer(api._clients[0], "create", monkeypatch, resumed)

    assert (await api.run(api.replicas[0].units.create(ANY))).kind is ResultKind.NEW


def lose_the_first_answer(
    client: ModelGateway,
    verb: str,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Let the first call of the verb take effect, but raise a server error for it."""
    answered = getattr(client, verb)
    calls = itertools.count()

    async def call(*given: Any) -> Any:
        answer = await answered(*given)
        if next(calls):
            return answer
        if meanwhile is not None:
            await meanwhile()
        raise kube_errors.ServerError("500")

    monkeypatch.setattr(client, verb, call)


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""
