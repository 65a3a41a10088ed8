"""Tests of the metric of how long operations have made no progress."""

from datetime import UTC, datetime
from typing import Any

from controller.operation.metrics import stalled_seconds_by_type
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.operation import Operation, OperationSpec, OperationStatus, OperationType
from shared.v1alpha1.phases import OperationPhase

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SEED, CREATE = OperationType.SEED_STOCK_UNITS, OperationType.CREATE_GPU_UNIT


def a_record(kind: OperationType, phase: str, **status: Any) -> Operation:
    return Operation(
        metadata=ObjectMeta(name="o", creation_timestamp="2026-11-16T11:00:00Z"),
        spec=OperationSpec(operation_id="o", type=kind, request_hash="v1:h"),
        status=OperationStatus(phase=phase, **status),
    )


def test_there_is_no_stalled_time_without_operations() -> None:
    assert stalled_seconds_by_type([], NOW) == {kind.value: 0.0 for kind in OperationType}


def test_final_operations_have_no_stalled_time() -> None:
    ended = [a_record(SEED, OperationPhase.SUCCEEDED), a_record(SEED, OperationPhase.FAILED)]
    assert stalled_seconds_by_type(ended, NOW)[SEED] == 0.0


def test_the_longest_time_without_progress_is_the_stalled_time() -> None:
    records = [
        a_record(SEED, OperationPhase.RUNNING, updated_at="2026-11-16T11:59:50Z"),
        a_record(SEED, OperationPhase.RUNNING, updated_at="2026-11-16T11:59:00Z"),
        a_record(CREATE, ""),
    ]
    found = stalled_seconds_by_type(records, NOW)
    assert (found[SEED], found[CREATE]) == (60.0, 3600.0)


def test_a_clock_that_is_behind_causes_no_negative_time() -> None:
    ahead = a_record(CREATE, OperationPhase.RUNNING, updated_at="2026-11-16T12:00:05Z")
    assert stalled_seconds_by_type([ahead], NOW)[CREATE] == 0.0
