"""How an idempotent request goes, whatever it makes."""

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver.accepted import Accepted, Outcome
from apiserver.clock import Clock
from apiserver.services.failure_text import recorded_failure
from apiserver.services.operation_metrics import OperationMetrics
from apiserver.services.records import Begun, Records, has_failed, has_succeeded, is_final
from apiserver.services.workshop import Workshop
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

    async def restarted(self, begun: Begun) -> Begun:
        """A failed operation begins again by the same request, and is answered like a new one."""
        return await self._records.restart(begun.record) if has_failed(begun.record) else begun

    def begin(self, record: Operation, work: Work) -> None:
        """Have the work done, for nobody to wait for."""
        _ = self._workshop.start(record.spec.operation_id, lambda: self._measured(record, work))

    async def outcome(self, begun: Begun, work: Work) -> Accepted[Operation]:
        """The final record, or as far as it is when the time is up; raises if it failed."""
        record = begun.record
        if has_succeeded(record):
            return Accepted(record, Outcome.REPLAY)
        final = await self._workshop.join(
            record.spec.operation_id, lambda: self._measured(record, work), self._seconds
        )
        if final is None:
            return Accepted(record, Outcome.UNFINISHED)
        if has_failed(final):
            raise recorded_failure(final)
        is_new = begun.is_new and final.status.attempt == record.status.attempt
        return Accepted(final, Outcome.NEW if is_new else Outcome.REPLAY)

    async def _measured(self, record: Operation, work: Work) -> Operation:
        began = self._clock.monotonic()
        final = await work(record)
        if is_final(final):
            seconds = self._clock.monotonic() - began
            self._metrics.ended(final.spec.type, final.status.phase.lower(), seconds)
        return final
