"""Tests of idempotency: exactly one of all callers of an operation gets the result NEW."""

from apiserver.errors import ConflictError
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.create_object import failed_status
from apiserver.operations.result import ResultKind
from apiserver.units.commands import CreateUnit
from shared.v1alpha1 import names
from tests.model.model_api import ModelApi
from tests.model.namespaces import SYSTEM_NAMESPACE


async def test_the_starter_of_a_failed_attempt_does_not_get_the_result_of_the_next_attempt() -> (
    None
):
    api = ModelApi(replicas=2)
    api.add_stock("s")
    command = CreateUnit("op-1", "unit-1", "g1.1", "a:1")
    late = api.replicas[0].units._creator
    begun, memory = await api.run(late.begin(command))
    failure = {"status": failed_status(ConflictError("another process has failed it"))}
    api.server.patch(OPERATIONS, SYSTEM_NAMESPACE, names.operation_name("op-1"), failure, "status")
    second = await api.run(api.replicas[1].units.create(command))
    first = await api.run(late._join(begun, command, memory, late._runner.deadline()))
    assert (second.kind, first.kind) == (ResultKind.NEW, ResultKind.REPLAY)
