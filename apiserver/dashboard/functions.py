"""Functions on the dashboard."""

from collections.abc import Sequence
from typing import Final

import msgspec

from apiserver.dashboard.top_rows import (
    DashboardRow,
    TopRows,
    ready_reason_and_message,
    sorted_by_name,
    top_rows,
)
from shared.v1alpha1.function import Function
from shared.v1alpha1.phases import FunctionPhase

_RANKS: Final = {
    FunctionPhase.FAILED.value: 0,
    FunctionPhase.DEGRADED.value: 0,
    FunctionPhase.IDLE.value: 2,
}
_OTHER_RANK: Final = 1


class FunctionRow(DashboardRow, frozen=True, kw_only=True):
    """One function: its workers and its queue."""

    name: str
    state: str
    spec_name: str = ""
    wanted: int = 0
    ready: int = 0
    most: int = 0
    queued: int = 0
    running: int = 0
    reason: str = ""
    message: str = ""


class FunctionsView(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of all functions, and the rows of some."""

    functions: int
    workers: int
    queued: int
    running: int
    listed: TopRows[FunctionRow]


def functions_view(functions: Sequence[Function]) -> FunctionsView:
    """Return the view; failed and degraded functions first, idle ones last."""
    statuses = [function.status for function in functions]
    return FunctionsView(
        functions=len(functions),
        workers=sum(status.ready_workers for status in statuses),
        queued=sum(status.queued for status in statuses),
        running=sum(status.running for status in statuses),
        listed=top_rows(
            sorted_by_name(functions),
            lambda function: _RANKS.get(function_state(function), _OTHER_RANK),
            function_row,
        ),
    )


def function_row(function: Function) -> FunctionRow:
    """Return the row of one function."""
    status = function.status
    reason, message = ready_reason_and_message(status.conditions)
    return FunctionRow(
        name=function.metadata.name,
        state=function_state(function),
        spec_name=function.spec.spec_name,
        wanted=status.desired_workers,
        ready=status.ready_workers,
        most=function.spec.max_workers,
        queued=status.queued,
        running=status.running,
        reason=reason,
        message=message,
    )


def function_state(function: Function) -> str:
    """Return the phase; Idle before the first status."""
    return function.status.phase or FunctionPhase.IDLE.value
