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

NAMED_STOCK_COMMAND = CreateUnit(
    operation_id="op", name="trainer", spec_name="g1.1", image="a:1", stock_name="s-0"
)
COMMAND = CreateUnit(operation_id="op", name="trainer", spec_name="g1.1", image="a:1")
OPERATION_NAME = names.operation_name("op")


def get_stock(api: ModelApi, name: str) -> GPUUnit:
    return decode_object(GPU_UNITS, api.server.get(GPU_UNITS, STOCK_NAMESPACE, name))


async def new_failed_operation(command: CreateUnit) -> ModelApi:
    """Run an operation that creates a unit from `s-0`; fail it and release its stock claim."""
    api = ModelApi()
    api.add_stock("s-0")
    await api.run(api.replicas[0].units.create(command))
    status = {"phase": "Failed", "message": "conflict: exceeded quota", "objects": None}
    api.server.patch(OPERATIONS, SYSTEM_NAMESPACE, OPERATION_NAME, {"status": status}, "status")
    released = claim_validity.claim_release_patch(get_stock(api, "s-0"), None)
    api.server.patch(GPU_UNITS, STOCK_NAMESPACE, "s-0", released, "")
    return api


async def restart(api: ModelApi, command: CreateUnit) -> OperationResult[Any]:
    """Return the result of the restart, while a controller runs beside it."""

    async def restart_beside_controller() -> OperationResult[Any]:
        controller = ModelController(api._clients[0], api._scheduler, Random(0))
        async with asyncio.TaskGroup() as group:
            controller_task = group.create_task(controller.run())
            result = await api.replicas[0].units.create(command)
            controller_task.cancel()
        return result

    return await api.run(restart_beside_controller())


def handoff_decision(api: ModelApi, unit: GPUUnit) -> HandoffDecision:
    """Return the controller's hand-off decision about the unit."""
    source = source_stock_of(unit)
    assert source is not None
    operation = decode_object(
        OPERATIONS, api.server.get(OPERATIONS, SYSTEM_NAMESPACE, OPERATION_NAME)
    )
    return check_handoff(unit, source, operation, get_stock(api, source.name)).decision


async def test_a_restarted_create_claims_its_stock_again() -> None:
    api = await new_failed_operation(COMMAND)

    result = await api.run(api.replicas[0].units.create(COMMAND))

    assert result.kind is ResultKind.NEW
    assert isinstance(result.value, GPUUnit)
    assert handoff_decision(api, result.value) is HandoffDecision.ADMITTED


async def test_a_restarted_create_uses_other_stock_if_its_stock_is_lost() -> None:
    api = await new_failed_operation(COMMAND)
    uid_before = api.server.get(GPU_UNITS, INSTANCE_NAMESPACE, "trainer")["metadata"]["uid"]
    api.server.delete(GPU_UNITS, STOCK_NAMESPACE, "s-0", "", "")
    api.add_stock("s-1")

    result = await restart(api, COMMAND)

    assert result.kind is ResultKind.NEW
    assert result.value.metadata.uid != uid_before
    assert source_stock_of(result.value).name == "s-1"  # type: ignore[union-attr]


async def test_a_restarted_create_is_refused_if_its_named_stock_is_lost() -> None:
    api = await new_failed_operation(NAMED_STOCK_COMMAND)
    api.server.delete(GPU_UNITS, STOCK_NAMESPACE, "s-0", "", "")
    api.add_stock("s-1")

    with pytest.raises(InsufficientCapacityError):
        await api.run(api.replicas[0].units.create(NAMED_STOCK_COMMAND))


async def test_a_restarted_create_is_new_after_the_response_to_the_restart_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = await new_failed_operation(COMMAND)
    lose_first_response(api._clients[0], "patch", monkeypatch)

    assert (await api.run(api.replicas[0].units.create(COMMAND))).kind is ResultKind.NEW
    assert (await api.run(api.replicas[0].units.create(COMMAND))).kind is ResultKind.REPLAY


async def test_a_create_is_new_after_another_replica_finished_its_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ModelApi(replicas=2)
    api.add_stock("s-0")
    other = api.replicas[1]

    async def resume_on_other_replica() -> None:
        versions = await other.resumer.resume_unfinished(set())
        await other.resumer.resume_unfinished(versions)
        await other.operation_tasks.join("op", nothing, timeout_seconds=60.0)

    lose_first_response(api._clients[0], "create", monkeypatch, resume_on_other_replica)

    assert (await api.run(api.replicas[0].units.create(COMMAND))).kind is ResultKind.NEW


def lose_first_response(
    client: ModelGateway,
    verb: str,
    monkeypatch: pytest.MonkeyPatch,
    before_error: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Let the first call of the verb take effect, but raise a server error for it."""
    send = getattr(client, verb)
    calls = itertools.count()

    async def call(*args: Any) -> Any:
        response = await send(*args)
        if next(calls):
            return response
        if before_error is not None:
            await before_error()
        raise kube_errors.ServerError("500")

    monkeypatch.setattr(client, verb, call)


async def nothing() -> None:
    """Do nothing: the work for a task that is not running."""
