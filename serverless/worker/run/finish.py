"""The last steps of a run: make it final, tell everybody, and let the message go."""

import asyncio
import logging
from contextlib import suppress

from serverless.worker.delivery import ACKNOWLEDGED, TERMINATED, Delivery
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import NoRoomError, QueueError
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.run.record_store import (
    OvertakenError,
    Records,
    Stored,
    UnreadableRecordError,
)
from shared.invocation import message, transition
from shared.invocation.final_messages import announcements
from shared.invocation.message import DeadLetter
from shared.invocation.record import Record

log = logging.getLogger(__name__)


class Outlet:
    """Ends runs in the one order that loses nothing wherever the process dies."""

    def __init__(self, queue: Queue, records: Records, metrics: WorkerMetrics, pace: Pace) -> None:
        self._queue = queue
        self._records = records
        self._metrics = metrics
        self._pace = pace

    async def settle(self, given: Delivery, over: Stored, final: Record) -> None:
        """Decide the outcome here and now, then publish it; OvertakenError if we came too late.

        NoRoomError where the record could be smaller.
        """
        is_smallest = final.result is None or not final.result.body.inline
        stored = await self._records.change(over, final, must_be=is_smallest)
        self._metrics.finished(final)
        log.info("invocation_finished", extra={"state": final.state, "attempt": final.attempts})
        await self.publish(given, stored)

    async def publish(self, given: Delivery, final: Stored) -> None:
        """Tell the outcome of a final record, mark that it was told, and acknowledge."""
        for each in announcements(self._queue.names, final.key, final.record):
            await self._tell(each.subject, each.data, each.message_id)
        if not final.record.published:
            # It is told, whoever has marked; where nobody has, the sweep tells it again.
            with suppress(OvertakenError, UnreadableRecordError, NoRoomError):
                marked = transition.published(final.record)
                await self._records.change(final, marked, must_be=False)
        await self._queue.answer(given.reply, ACKNOWLEDGED)

    async def bury(self, given: Delivery, subject: str, letter: DeadLetter) -> None:
        """Tell the dead letters of a message that has no record, and let nobody have it again."""
        message_id = f"message.{given.sequence}"
        await self._tell(subject, message.encode(letter), message_id)
        await self._queue.answer(given.reply, TERMINATED)

    async def _tell(self, subject: str, data: bytes, message_id: str) -> None:
        """Until it is told: nobody else will do it before the sweep."""
        tries = 0
        while True:
            try:
                await self._queue.tell(subject, data, message_id)
            except QueueError as error:
                tries += 1
                log.warning("outcome_not_told", extra={"tries": tries, "reason": str(error)})
                await asyncio.sleep(self._pace.again_in(tries))
            else:
                return
