"""The heartbeat of an attempt: it keeps the message ours, and sees whether the run still is."""

import asyncio
import logging
from collections.abc import Callable

from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient
from serverless.worker.delivery import IN_PROGRESS, Delivery
from serverless.worker.intervals import Intervals
from serverless.worker.run.record_store import RecordStore, StoredRecord
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState

log = logging.getLogger(__name__)


class SupersededError(Exception):
    """The run is somebody else's now, or over: nothing of this attempt counts."""


class Heartbeat:
    """Beats while an attempt runs; a nudge makes it beat at once."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        record_store: RecordStore,
        delivery: Delivery,
        stored_record: StoredRecord,
        intervals: Intervals,
    ) -> None:
        self._jetstream = jetstream
        self._record_store = record_store
        self._delivery = delivery
        self._stored_record = stored_record
        self._intervals = intervals
        self._check_requested = asyncio.Event()
        self._checks_record = True

    def check_record_now(self) -> None:
        """Beat now: the record may have been cancelled."""
        self._check_requested.set()

    def stop_checking_record(self) -> None:
        """Only keep the message: from here on our own writes tell whose the run is."""
        self._checks_record = False

    async def beat_if_late(self, begun_at: float, on_cancel: Callable[[], None]) -> None:
        """Beat now if what was done `since` then took longer than a heartbeat may.

        The message may have gone to another worker meanwhile, who may be done with it.
        """
        if asyncio.get_running_loop().time() - begun_at > self._intervals.heartbeat_seconds:
            await self._beat(on_cancel)

    async def run(self, on_cancel: Callable[[], None]) -> None:
        """For ever; SupersededError once the run is not ours."""
        while True:
            try:
                async with asyncio.timeout(self._intervals.heartbeat_seconds):
                    await self._check_requested.wait()
            except TimeoutError:
                pass
            self._check_requested.clear()
            await self._beat(on_cancel)

    async def _beat(self, on_cancel: Callable[[], None]) -> None:
        try:
            await self._jetstream.acknowledge(self._delivery.reply, IN_PROGRESS)
            found = await self._record_store.read(self._stored_record.key)
        except QueueError as error:
            log.warning("heartbeat_failed", extra={"reason": str(error)})
            return
        if not self._checks_record or (found and found.revision <= self._stored_record.revision):
            return  # decided, or read from a replica that is behind
        if found is None or not is_same_attempt(self._stored_record.record, found.record):
            raise SupersededError
        if found.record.state is InvocationState.CANCELLING:
            on_cancel()


def is_same_attempt(expected: InvocationRecord, current: InvocationRecord) -> bool:
    """Whether the record still tells of the attempt that we have begun, and not of its end."""
    ours = (expected.run, expected.attempts, expected.worker, expected.sequence)
    theirs = (current.run, current.attempts, current.worker, current.sequence)
    return ours == theirs and current.state in (InvocationState.RUNNING, InvocationState.CANCELLING)
