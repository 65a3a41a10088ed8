"""The heartbeat of an attempt: extends the ack wait, and checks that the run is still ours."""

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
    """The run is final or belongs to another attempt: the result of this one is void."""


class Heartbeat:
    """Beats periodically while an attempt runs, and at once on request."""

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
        """Only extend the ack wait: from here on our own writes detect a conflict."""
        self._checks_record = False

    async def beat_if_late(self, begun_at: float, on_cancel: Callable[[], None]) -> None:
        """Beat now if the work since `begun_at` took longer than a heartbeat interval.

        Another worker may have got the message meanwhile, and may have finished it.
        """
        if asyncio.get_running_loop().time() - begun_at > self._intervals.heartbeat_seconds:
            await self._beat(on_cancel)

    async def run(self, on_cancel: Callable[[], None]) -> None:
        """Beat until cancelled; raises SupersededError once the run is not ours."""
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
            current = await self._record_store.read(self._stored_record.key)
        except QueueError as error:
            log.warning("heartbeat_failed", extra={"reason": str(error)})
            return
        if not self._checks_record or (
            current and current.revision <= self._stored_record.revision
        ):
            return  # the outcome is being written, or the replica lags behind
        if current is None or not is_same_attempt(self._stored_record.record, current.record):
            raise SupersededError
        if current.record.state is InvocationState.CANCELLING:
            on_cancel()


def is_same_attempt(expected: InvocationRecord, current: InvocationRecord) -> bool:
    """Whether the current record still describes our attempt, and it is not final."""
    expected_attempt = (expected.run, expected.attempts, expected.worker, expected.sequence)
    current_attempt = (current.run, current.attempts, current.worker, current.sequence)
    is_open = current.state in (InvocationState.RUNNING, InvocationState.CANCELLING)
    return is_open and expected_attempt == current_attempt
