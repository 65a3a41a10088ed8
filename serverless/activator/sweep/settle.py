"""Carries out what was decided for one record, in the order that a crash cannot harm."""

import logging
from collections.abc import Awaitable, Callable

from controller.runtime.clock import Clock
from serverless.activator.sweep.decision import (
    Facts,
    Home,
    Leave,
    Message,
    Queue,
    Settle,
    Tell,
    decide,
)
from serverless.activator.sweep.invocation_store import Records, record_in
from serverless.activator.sweep.metrics import SettlingMetrics
from serverless.activator.timestamps import now_ms
from serverless.nats.stored_message import Stored
from shared.invocation.queue_names import ids_of
from shared.invocation.record import Record

log = logging.getLogger(__name__)

HomeOf = Callable[[str, Record], Awaitable[Home]]


class Settling:
    """Looks at records one by one, and brings those that nobody can finish to their end."""

    def __init__(self, records: Records, metrics: SettlingMetrics, clock: Clock) -> None:
        self._records = records
        self._metrics = metrics
        self._clock = clock

    async def settle(self, stored: Stored, home_of: HomeOf) -> bool:
        """Do what is due for the record; whether it is final and told, or not ours to read."""
        record, key = record_in(stored), self._records.key_of(stored)
        if record is None or (record.is_final and record.published):
            return True
        facts = await self._facts(key, stored, record, await home_of(key, record))
        match decide(facts):
            case Leave():
                return False
            case Settle(final):
                return await self._finish(key, final, stored.sequence, facts.message)
            case Tell():
                return await self._tell(key, record, stored.sequence, facts.message)
            case Queue(released):
                await self._queue(key, released or record, stored.sequence, facts)
        return False

    async def _facts(self, key: str, stored: Stored, record: Record, home: Home) -> Facts:
        is_alive = await self._records.is_worker_alive(key, record.worker)
        return Facts(
            record=record,
            changed_at=stored.at,
            message=await self._records.message(key),
            is_worker_alive=is_alive,
            home=home,
            now=now_ms(self._clock),
        )

    async def _finish(
        self, key: str, final: Record, revision: int, message: Message | None
    ) -> bool:
        written = await self._records.write(key, final, revision)
        if written is None:
            return False
        self._metrics.finished(ids_of(key)[0], final.state)
        self._log("invocation_settled", key, final)
        if final.worker:
            await self._records.nudge(key)  # its code may be running, for nobody
        return await self._tell(key, final, written, message)

    async def _tell(self, key: str, final: Record, revision: int, message: Message | None) -> bool:
        await self._records.tell(key, final)
        if message is not None and is_spent(message, final):
            await self._records.remove(message)
        await self._records.mark(key, final, revision)
        return True

    async def _queue(self, key: str, waiting: Record, revision: int, facts: Facts) -> None:
        if waiting is not facts.record:
            if await self._records.write(key, waiting, revision) is None:
                return
        elif facts.message is not None:
            await self._records.remove(facts.message)  # of an older run: it blocks the subject
        await self._records.queue(key, waiting)
        self._log("invocation_queued_again", key, waiting)

    def _log(self, event: str, key: str, record: Record) -> None:
        request_id, invocation_id = ids_of(key)
        about = {"requestID": request_id, "invocationID": invocation_id}
        log.info(event, extra={**about, "state": record.state, "run": record.run})


def is_spent(message: Message, final: Record) -> bool:
    """Whether the message brings only a run that is over: of this function, and no later one."""
    call = message.call
    return call is not None and call.function_uid == final.function_uid and call.run <= final.run
