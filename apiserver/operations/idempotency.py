"""Runs idempotent requests: each operation once, with the same result for all its requests."""

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver.operations.failure_text import recorded_failure
from apiserver.operations.metrics import OperationMetrics
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.operations.store import (
    BegunOperation,
    OperationStore,
    has_failed,
    has_succeeded,
    is_final,
)
from apiserver.operations.task_registry import KeyedTasks
from shared.clock import Clock
from shared.v1alpha1.operation import Operation

OperationWork = Callable[[Operation], Coroutine[Any, Any, Operation]]


class IdempotentRunner:
    """Restarts failed operations, joins running ones and returns the results of finished ones."""

    def __init__(
        self,
        operations: OperationStore,
        tasks: KeyedTasks,
        metrics: OperationMetrics,
        clock: Clock,
        wait_seconds: float,
    ) -> None:
        self._operations = operations
        self._tasks = tasks
        self._metrics = metrics
        self._clock = clock
        self._wait_seconds = wait_seconds

    def deadline(self) -> float:
        """Return the end of the wait of a request that starts now, on the monotonic clock."""
        return self._clock.monotonic() + self._wait_seconds

    async def restart_if_failed(self, begun: BegunOperation) -> BegunOperation:
        """Restart a failed operation for the request that repeats it; return others unchanged."""
        return (
            await self._operations.restart(begun.operation)
            if has_failed(begun.operation)
            else begun
        )

    def start(self, operation: Operation, work: OperationWork) -> None:
        """Start the work, without waiting for it."""
        _ = self._tasks.start(
            operation.spec.operation_id, lambda: self._run_measured(operation, work)
        )

    async def join(
        self, begun: BegunOperation, work: OperationWork, deadline: float
    ) -> OperationResult[Operation]:
        """Return the final operation; UNFINISHED at the deadline. Raises the recorded failure."""
        operation = begun.operation
        if has_succeeded(operation):
            return operation_result(begun, operation)
        timeout_seconds = max(0.0, deadline - self._clock.monotonic())
        final = await self._tasks.join(
            operation.spec.operation_id,
            lambda: self._run_measured(operation, work),
            timeout_seconds,
        )
        if final is None:
            return OperationResult(operation, ResultKind.UNFINISHED)
        if has_failed(final):
            raise recorded_failure(final)
        return operation_result(begun, final)

    async def _run_measured(self, operation: Operation, work: OperationWork) -> Operation:
        started_at = self._clock.monotonic()
        final = await work(operation)
        if is_final(final):
            seconds = self._clock.monotonic() - started_at
            self._metrics.observe_finished(final.spec.type, final.status.phase.lower(), seconds)
        return final


def operation_result(begun: BegunOperation, final: Operation) -> OperationResult[Operation]:
    """Return NEW for the request that started this attempt, else REPLAY."""
    is_new = begun.is_new and final.status.attempt == begun.operation.status.attempt
    return OperationResult(final, ResultKind.NEW if is_new else ResultKind.REPLAY)
