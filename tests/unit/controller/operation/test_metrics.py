"""Tests of the metric of how long operations have made no progress."""

from datetime import UTC, datetime
from typing import Any

from controller.operation.metrics import stalled_seconds_by_type
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.operation import Operation, OperationSpec, OperationStatus, OperationType
from shared.v1alpha1.phases import OperationPhase

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SEED, CREATE = OperationType.SEED_STOCK_UNITS, OperationType.CREATE_GPU_UNIT


def an_operation(operation_type: OperationType, phase: str, **status: Any) -> Operation:
    return Operation(
        metadata=ObjectMeta(name="o", creation_timestamp="2026-11-16T11:00:00Z"),
        spec=OperationSpec(operation_id="o", type=operation_type, request_hash="v1:h"),
        status=OperationStatus(phase=phase, **status),
    )


def test_there_is_no_stalled_time_without_operations() -> None:
    assert stalled_seconds_by_type([], NOW) == {kind.value: 0.0 for kind in OperationType}


def test_final_operations_have_no_stalled_time() -> None:
    ended = [
        an_operation(SEED, OperationPhase.SUCCEEDED),
        an_operation(SEED, OperationPhase.FAILED),
    ]
    assert stalled_seconds_by_type(ended, NOW)[SEED] == 0.0


def test_the_longest_time_without_progress_is_the_stalled_time() -> None:
    operations = [
        an_operation(SEED, OperationPhase.RUNNING, updated_at="2026-11-16T11:59:50Z"),
        an_operation(SEED, OperationPhase.RUNNING, updated_at="2026-11-16T11:59:00Z"),
        an_operation(CREATE, ""),
    ]
    seconds = stalled_seconds_by_type(operations, NOW)
    assert (seconds[SEED], seconds[CREATE]) == (60.0, 3600.0)


def test_a_clock_that_is_behind_causes_no_negative_time() -> None:
    ahead = an_operation(CREATE, OperationPhase.RUNNING, updated_at="2026-11-16T12:00:05Z")
    assert stalled_seconds_by_type([ahead], NOW)[CREATE] == 0.0
