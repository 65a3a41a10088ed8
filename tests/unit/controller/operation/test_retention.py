"""Tests of retention: what is deleted of an operation, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.operation.retention import (
    RetentionAction,
    is_operation_referenced,
    next_retention_action,
)
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation, OperationSpec, OperationStatus
from shared.v1alpha1.phases import OperationPhase
from tests.support.builders.gpu_units import new_unit

DAY = 86400.0
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
AN_HOUR_AGO = "2026-11-16T11:00:00Z"


def an_operation(phase: str, request: dict[str, Any] | None = None, **status: Any) -> Operation:
    spec = OperationSpec(
        operation_id="o", type="CreateGPUUnit", request_hash="v1:h", request=request
    )
    return Operation(
        metadata=ObjectMeta(name="o", creation_timestamp="2026-11-16T10:00:00Z"),
        spec=spec,
        status=OperationStatus(phase=phase, **status),
    )


@pytest.mark.parametrize("phase", [OperationPhase.PENDING, OperationPhase.RUNNING])
def test_an_unfinished_operation_is_kept(phase: str) -> None:
    operation = an_operation(phase, {"a": 1}, updated_at="2020-01-01T00:00:00Z")
    assert next_retention_action(operation, DAY, NOW) == RetentionAction()


@pytest.mark.parametrize("phase", [OperationPhase.SUCCEEDED, OperationPhase.FAILED])
def test_a_final_operation_is_deleted_after_its_retention(phase: str) -> None:
    operation = an_operation(phase, {"a": 1}, finished_at=AN_HOUR_AGO)
    assert next_retention_action(operation, 3600, NOW) == RetentionAction(delete=True)
    assert next_retention_action(operation, 3601, NOW).requeue_after == 1.0


def test_a_succeeded_operation_drops_its_request() -> None:
    operation = an_operation(OperationPhase.SUCCEEDED, {"a": 1}, finished_at=AN_HOUR_AGO)
    assert next_retention_action(operation, DAY, NOW) == RetentionAction(
        drop_request=True, requeue_after=DAY - 3600
    )


def test_a_failed_operation_keeps_its_request() -> None:
    operation = an_operation(OperationPhase.FAILED, {"a": 1}, finished_at=AN_HOUR_AGO)
    assert next_retention_action(operation, DAY, NOW) == RetentionAction(requeue_after=DAY - 3600)


@pytest.mark.parametrize(
    ("times", "hours"),
    [
        ({"updated_at": AN_HOUR_AGO}, 1),
        ({"finished_at": "yesterday", "updated_at": AN_HOUR_AGO}, 1),
        ({"finished_at": "2026-11-16T11:00:00"}, 2),
        ({}, 2),
    ],
)
def test_retention_without_an_end_time_counts_from_the_latest_known_time(
    times: dict[str, Any], hours: int
) -> None:
    operation = an_operation(OperationPhase.SUCCEEDED, **times)
    remaining = timedelta(seconds=DAY) - timedelta(hours=hours)
    assert next_retention_action(operation, DAY, NOW).requeue_after == remaining.total_seconds()


@pytest.mark.parametrize("end", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_an_invalid_end_time_does_not_fail_the_retention(end: str) -> None:
    action = next_retention_action(an_operation(OperationPhase.FAILED, finished_at=end), DAY, NOW)
    assert action.delete == end.startswith("0001")


CREATED = {wellknown.OPERATION_ID_ANNOTATION: "o"}


@pytest.mark.parametrize(
    ("annotations", "needed"),
    [
        pytest.param({}, False, id="created manually"),
        pytest.param(
            {wellknown.OPERATION_ID_ANNOTATION: "another"}, False, id="of another operation"
        ),
        pytest.param(CREATED, True, id="neither admitted nor listed"),
        pytest.param({**CREATED, wellknown.ADMITTED_ANNOTATION: ""}, False, id="admitted"),
        pytest.param({**CREATED, wellknown.LISTED_ANNOTATION: "true"}, False, id="listed"),
        pytest.param({wellknown.CLAIM_OPERATION_ANNOTATION: "o"}, True, id="claimed by it"),
        pytest.param(
            {wellknown.CLAIM_OPERATION_ANNOTATION: "another"}, False, id="claimed by another"
        ),
        pytest.param(
            {
                **CREATED,
                wellknown.LISTED_ANNOTATION: "true",
                wellknown.CLAIM_OPERATION_ANNOTATION: "another",
            },
            False,
            id="listed and claimed by another",
        ),
    ],
)
def test_a_unit_needs_the_operation_that_decides_about_it(
    annotations: dict[str, str], needed: bool
) -> None:
    assert is_operation_referenced(new_unit(annotations=annotations), "o") is needed
