"""Jobs in the examples of the API document."""

from typing import Final

from apiserver.operations.schemas import JobViewSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.operation import (
    Operation,
    OperationObject,
    OperationSpec,
    OperationStatus,
    OperationType,
)
from shared.v1alpha1.phases import OperationPhase

_CREATED_AT: Final = "2026-11-16T04:40:20Z"


def pending_operation(operation_id: str, operation_type: OperationType) -> Operation:
    """Return an operation that has just begun."""
    return Operation(
        metadata=ObjectMeta(creation_timestamp=_CREATED_AT),
        spec=OperationSpec(
            operation_id=operation_id, type=operation_type.value, request_hash="v1:0"
        ),
    )


def job_response(operation: Operation) -> dict[str, object]:
    """Return the response body of a job."""
    return {"data": JobViewSchema().dump(operation)}


_SEEDED: Final = Operation(
    metadata=ObjectMeta(creation_timestamp=_CREATED_AT),
    spec=pending_operation("seed-1", OperationType.SEED_STOCK_UNITS).spec,
    status=OperationStatus(
        phase=OperationPhase.SUCCEEDED.value,
        requested=1,
        created=1,
        objects=(
            OperationObject(
                kind="GPUUnit",
                namespace="runtime-stock",
                name="stock-hk3q2vtd4f7u5c2m6x3yqkz7pa4wbn5e-0",
                uid="7d4e8c52-7d0f-4a53-9a3f-1f4e3f0f7a11",
                ordinal=0,
            ),
        ),
        updated_at="2026-11-16T04:40:21Z",
    ),
)
JOB: Final = job_response(_SEEDED)
PENDING: Final = job_response(pending_operation("seed-1", OperationType.SEED_STOCK_UNITS))
JOBS: Final = {"data": [JOB["data"]], "meta": {}}
