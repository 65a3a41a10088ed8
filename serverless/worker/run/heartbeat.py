"""The heartbeat of an attempt: it keeps the message ours, and sees whether the run still is."""

import asyncio
import logging
from collections.abc import Callable

from serverless.worker.delivery import IN_PROGRESS, Delivery
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import QueueError
from serverless.worker.run.record_store import Records, Stored
from shared.invocation.record import Record
from shared.invocation.state import State

log = logging.getLogger(__name__)


class SupersededError(Exception):
    """The run is somebody else's now, or over: nothing of this attempt counts."""


class Pulse:
    """Beats while an attempt runs; a nudge makes it beat at once."""

    def __init__(
        self, queue: Queue, records: Records, given: Delivery, held: Stored, pace: Pace
    ) -> None:
        self._queue = queue
        self._records = records
        self._given = given
        self._held = held
        self._pace = pace
        self._nudged = asyncio.Event()
        self._judges = True

    def nudge(self) -> None:
        """Beat now: the record may have been cancelled."""
        self._nudged.set()

    def judge_no_more(self) -> None:
        """Only keep the message: from here on our own writes tell whose the run is."""
        self._judges = False

    async def assure(self, since: float, on_cancel: Callable[[], None]) -> None:
        """Beat now if what was done `since` then took longer than a heartbeat may.

        The message may have gone to another worker meanwhile, who may be done with it.
        """
        if asyncio.get_running_loop().time() - since > self._pace.heartbeat:
            await self._beat(on_cancel)

    async def run(self, on_cancel: Callable[[], None]) -> None:
        """For ever; SupersededError once the run is not ours."""
        while True:
            try:
                async with asyncio.timeout(self._pace.heartbeat):
                    await self._nudged.wait()
            except TimeoutError:
                pass
            self._nudged.clear()
            await self._beat(on_cancel)

    async def _beat(self, on_cancel: Callable[[], None]) -> None:
        try:
            await self._queue.answer(self._given.reply, IN_PROGRESS)
            found = await self._records.read(self._held.key)
        except QueueError as error:
            log.warning("heartbeat_failed", extra={"reason": str(error)})
            return
        if not self._judges or (found and found.revision <= self._held.revision):
            return  # decided, or read from a replica that is behind
        if found is None or not is_same_attempt(self._held.record, found.record):
            raise SupersededError
        if found.record.state is State.CANCELLING:
            on_cancel()


def is_same_attempt(held: Record, found: Record) -> bool:
    """Whether the record still tells of the attempt that we have begun, and not of its end."""
    ours = (held.run, held.attempts, held.worker, held.sequence)
    theirs = (found.run, found.attempts, found.worker, found.sequence)
    return ours == theirs and found.state in (State.RUNNING, State.CANCELLING)
