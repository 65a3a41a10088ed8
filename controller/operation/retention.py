"""Retention of operations: how long one is kept, and what refers to it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

FINAL_PHASES: Final = (OperationPhase.SUCCEEDED, OperationPhase.FAILED)


@dataclass(frozen=True, slots=True)
class RetentionAction:
    """Action on an operation now, and the seconds until the next check."""

    delete: bool = False
    drop_request: bool = False
    requeue_after: float | None = None


def next_retention_action(
    operation: Operation, retention_seconds: float, now: datetime
) -> RetentionAction:
    """Decide: drop the request after success, delete a final operation after its retention."""
    since = completion_time(operation)
    if since is None:
        return RetentionAction()
    left = retention_seconds - (now - since).total_seconds()
    if left <= 0:
        return RetentionAction(delete=True)
    is_done = operation.status.phase == OperationPhase.SUCCEEDED  # a failed one may be restarted
    return RetentionAction(
        drop_request=is_done and operation.spec.request is not None, requeue_after=left
    )


def completion_time(operation: Operation) -> datetime | None:
    """Return when it became final, or the nearest known time; None while it is not final."""
    if operation.status.phase not in FINAL_PHASES:
        return None
    timestamps = (
        operation.status.finished_at,
        operation.status.updated_at,
        operation.metadata.creation_timestamp,
    )
    return next((time for text in timestamps if (time := parse_timestamp(text)) is not None), None)


def parse_timestamp(text: str) -> datetime | None:
    """Parse a timestamp with a time zone; None for anything else."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


SETTLED_ANNOTATIONS = (wellknown.ADMITTED_ANNOTATION, wellknown.LISTED_ANNOTATION)


def is_operation_referenced(unit: GPUUnit, operation_id: str) -> bool:
    """Return whether the unit, or the stock claim on it, still depends on the operation."""
    annotations = unit.metadata.annotations
    is_made = annotations.get(wellknown.OPERATION_ID_ANNOTATION) == operation_id
    is_open = is_made and not any(mark in annotations for mark in SETTLED_ANNOTATIONS)
    return is_open or annotations.get(wellknown.CLAIM_OPERATION_ANNOTATION) == operation_id
