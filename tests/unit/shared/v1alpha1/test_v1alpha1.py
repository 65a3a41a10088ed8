"""Tests of the models: they decode every field that the API server stores."""

from typing import Any

import msgspec
import pytest

from controller.runtime.client.interning import Interner, is_hashable_type
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from shared.k8s.meta import Condition, ObjectMeta, OwnerReference
from shared.v1alpha1 import function, gpustorage, gpuunit, operation, stockpool
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.phases import OperationPhase, UnitPhase
from shared.v1alpha1.template import Port, WorkloadTemplate
from tests.unit.shared.v1alpha1.stored_objects import (
    STORED_FUNCTION,
    STORED_OPERATION,
    STORED_POOL,
    STORED_STORAGE,
    STORED_UNIT,
)

EXAMPLES = [
    (gpuunit.GPUUnit, STORED_UNIT),
    (stockpool.StockPool, STORED_POOL),
    (gpustorage.GPUStorage, STORED_STORAGE),
    (operation.Operation, STORED_OPERATION),
    (function.Function, STORED_FUNCTION),
]


@pytest.mark.parametrize(("model", "stored"), EXAMPLES)
def test_stored_objects_are_decoded_completely(model: type[Any], stored: dict[str, Any]) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(stored), type=model)
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == stored


@pytest.mark.parametrize(("model", "stored"), EXAMPLES)
def test_the_interner_does_not_change_a_stored_object(
    model: type[Any], stored: dict[str, Any]
) -> None:
    decoded = msgspec.convert(stored, model)
    assert Interner(model)(decoded) == msgspec.convert(stored, model)


@pytest.mark.parametrize("part", [WorkloadTemplate, Condition, OwnerReference])
def test_repeated_parts_of_models_can_be_interned(part: type[Any]) -> None:
    assert is_hashable_type(part)


def test_every_model_is_an_object_of_the_controller_library() -> None:
    unit: Object = gpuunit.GPUUnit(
        metadata=ObjectMeta(name="a"), spec=gpuunit.GPUUnitSpec(spec_name="g1.1")
    )
    kinds: list[Kind[Any]] = [
        Kind(GROUP, VERSION, gpuunit.PLURAL, gpuunit.KIND, gpuunit.GPUUnit),
        Kind(GROUP, VERSION, stockpool.PLURAL, stockpool.KIND, stockpool.StockPool),
        Kind(GROUP, VERSION, gpustorage.PLURAL, gpustorage.KIND, gpustorage.GPUStorage),
        Kind(GROUP, VERSION, operation.PLURAL, operation.KIND, operation.Operation),
        Kind(GROUP, VERSION, function.PLURAL, function.KIND, function.Function),
    ]
    assert unit.metadata.name == "a"
    assert [kind.model.__name__ for kind in kinds] == [kind.name for kind in kinds]


def test_a_function_has_the_documented_defaults() -> None:
    spec = function.FunctionSpec(spec_name="g1.1", image="i")
    scaling = (spec.min_workers, spec.max_workers, spec.concurrency, spec.target_backlog)
    times = (spec.idle_timeout_seconds, spec.timeout_seconds, spec.ttl_seconds)
    assert (scaling, times) == ((0, 1, 1, 1), (300, 300, 3600))
    assert (spec.max_attempts, spec.max_queued) == (3, 10000)


def test_a_unit_has_the_documented_defaults() -> None:
    spec = gpuunit.GPUUnitSpec(spec_name="g1.1")
    assert (spec.gpu, spec.gpu_resource) == (0, "nvidia.com/gpu")
    assert Port(name="http", port=80).protocol == "TCP"


def test_an_operation_without_a_status_is_pending() -> None:
    stored = {"metadata": {"name": "a"}, "spec": STORED_OPERATION["spec"]}
    decoded = msgspec.convert(stored, operation.Operation)
    assert decoded.status.phase == OperationPhase.PENDING


def test_a_phase_is_encoded_as_its_text() -> None:
    status = gpuunit.GPUUnitStatus(phase=UnitPhase.FAILED)
    assert msgspec.json.encode(status) == b'{"phase":"Failed"}'


def test_an_unknown_phase_is_decoded() -> None:
    decoded = msgspec.convert({"phase": "Hibernated"}, gpuunit.GPUUnitStatus)
    assert decoded.phase == "Hibernated"


def test_memory_that_is_not_a_quantity_is_decoded() -> None:
    decoded = msgspec.convert({"specName": "g1.1", "memory": "lots"}, gpuunit.GPUUnitSpec)
    assert decoded.memory == "lots"
