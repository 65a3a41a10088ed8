"""How an idempotent request goes, whatever it makes."""

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver.clock import Clock
from apiserver.operations.failure_text import recorded_failure
from apiserver.operations.metrics import OperationMetrics
from apiserver.operations.result import Accepted, Outcome
from apiserver.operations.store import Begun, Records, has_failed, has_succeeded, is_final
from apiserver.operations.task_registry import Workshop
from shared.v1alpha1.operation import Operation

Work = Callable[[Operation], Coroutine[Any, Any, Operation]]


class Requests:
    """Restarts what has failed, joins what is under way, and answers what is done."""

    def __init__(
        self,
        records: Records,
        workshop: Workshop,
        metrics: OperationMetrics,
        clock: Clock,
        seconds: float,
    ) -> None:
        self._records = records
        self._workshop = workshop
        self._metrics = metrics
        self._clock = clock
        self._seconds = seconds

    def due(self) -> float:
        """When a request that comes now is answered at the latest, on the monotonic clock."""
        return self._clock.monotonic() + self._seconds

    async def restarted(self, begun: Begun) -> Begun:
        """A failed operation begins again by the same request, and is answered like a new one."""
        return await self._records.restart(begun.record) if has_failed(begun.record) else begun

    def begin(self, record: Operation, work: Work) -> None:
        """Have the work done, for nobody to wait for."""
        _ = self._workshop.start(record.spec.operation_id, lambda: self._measured(record, work))

    async def outcome(self, begun: Begun, work: Work, due: float) -> Accepted[Operation]:
        """The final record, or as far as it is when the answer is due; raises if it failed."""
        record = begun.record
        if has_succeeded(record):
            return succeeded(begun, record)
        left = max(0.0, due - self._clock.monotonic())
        final = await self._workshop.join(
            record.spec.operation_id, lambda: self._measured(record, work), left
        )
        if final is None:
            return Accepted(record, Outcome.UNFINISHED)
        if has_failed(final):
            raise recorded_failure(final)
        return succeeded(begun, final)

    async def _measured(self, record: Operation, work: Work) -> Operation:
        began = self._clock.monotonic()
        final = await work(record)
        if is_final(final):
            seconds = self._clock.monotonic() - began
            self._metrics.ended(final.spec.type, final.status.phase.lower(), seconds)
        return final


def succeeded(begun: Begun, final: Operation) -> Accepted[Operation]:
    """The answer for who has begun it; an attempt that others began since is theirs."""
    is_its_own = begun.is_new and final.status.attempt == begun.record.status.attempt
    return Accepted(final, Outcome.NEW if is_its_own else Outcome.REPLAY)
