"""Operations on the dashboard."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from apiserver.dashboard.top_rows import (
    DashboardRow,
    TopRows,
    newest_first,
    top_rows,
    truncate_message,
)
from shared.v1alpha1.operation import Operation, requested_count
from shared.v1alpha1.phases import OperationPhase


class OperationRow(DashboardRow, frozen=True, kw_only=True):
    """One operation and its progress."""

    operation_id: str = msgspec.field(name="operationID")
    type: str
    state: str
    created: int = 0
    requested: int = 0
    message: str = ""
    created_at: str = ""


class OperationsView(msgspec.Struct, frozen=True, kw_only=True):
    """The number of operations in each state, and the rows of those that have not succeeded."""

    states: dict[str, int]
    listed: TopRows[OperationRow]


def operations_view(operations: Sequence[Operation], succeeded: int) -> OperationsView:
    """Return the view; unfinished operations first, then failed ones."""
    states = Counter(operation.status.phase for operation in operations)
    states[OperationPhase.SUCCEEDED.value] += succeeded
    listed = top_rows(newest_first(operations), has_failed, operation_row)
    return OperationsView(states=dict(sorted((+states).items())), listed=listed)


def operation_row(operation: Operation) -> OperationRow:
    """Return the row of one operation."""
    return OperationRow(
        operation_id=operation.spec.operation_id,
        type=operation.spec.type,
        state=operation.status.phase,
        created=operation.status.created,
        requested=requested_count(operation),
        message=truncate_message(operation.status.message),
        created_at=operation.metadata.creation_timestamp,
    )


def has_failed(operation: Operation) -> bool:
    """Return whether the operation has failed: only a repeated request restarts it."""
    return operation.status.phase == OperationPhase.FAILED
