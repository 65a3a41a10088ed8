"""Pulls messages: at most as many as there are free slots, one pull request at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient
from serverless.worker.consume.slots import Slots
from serverless.worker.delivery import Delivery, nak_with_delay, parse_delivery
from serverless.worker.framework.health import MonitoredFramework
from serverless.worker.intervals import Intervals
from shared.invocation.queue_names import QueueNames, consumer_name

# The pull request has ended normally. After any other status the next request waits.
_REQUEST_ENDED_STATUSES: Final = frozenset({"404", "408"})
_HEARTBEAT_STATUS: Final = "100"

log = logging.getLogger(__name__)


class Puller:
    """Requests as many messages as can run, and starts each when it arrives."""

    def __init__(
        self,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        slots: Slots,
        framework: MonitoredFramework,
        intervals: Intervals,
        dispatch: Callable[[Delivery], Awaitable[None]],
    ) -> None:
        self._jetstream = jetstream
        self._queue_names = queue_names
        self._slots = slots
        self._framework = framework
        self._intervals = intervals
        self._dispatch = dispatch
        self._tasks: asyncio.TaskGroup | None = None
        self._outstanding = 0
        self._has_failed = False
        self._is_request_ended = False
        self._activity = asyncio.Event()
        self.is_draining = False

    def drain(self) -> None:
        """Stop pulling; return messages that still arrive to the queue."""
        self.is_draining = True
        self._slots.changed.set()
        self._end_request()

    def restart(self) -> None:
        """End the current request: the server has lost it with the connection."""
        self._end_request()

    async def run(self, function_name: str, inbox: str) -> None:
        """Pull until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._tasks = group
            try:
                await self._pull_loop(function_name, inbox)
            finally:
                self._tasks = None

    async def handle_message(
        self, subject: str, reply: str, data: bytes, headers: Mapping[str, str]
    ) -> None:
        """Handle a message of the inbox: a delivery, or a status of the pull request."""
        self._activity.set()
        if not reply or "Status" in headers:
            self._handle_status(headers.get("Status", ""))
            return
        self._outstanding -= 1
        if self._outstanding <= 0:
            self._end_request()
        await self._start(parse_delivery(subject, reply, data, headers))

    async def _pull_loop(self, function_name: str, inbox: str) -> None:
        while True:
            await self._framework.healthy.wait()
            free = await self._slots.wait_for_free()
            if self.is_draining:
                await asyncio.Event().wait()
            await self._pull(function_name, inbox, free)

    async def _pull(self, function_name: str, inbox: str, batch: int) -> None:
        self._outstanding, self._is_request_ended, self._has_failed = batch, False, False
        try:
            await self._jetstream.pull(
                self._queue_names.invocations_stream,
                consumer_name(function_name),
                inbox,
                batch,
                self._intervals.pull_seconds,
            )
        except QueueError:
            self._has_failed = True
        else:
            await self._wait_for_request_end()
        if self._has_failed:
            await asyncio.sleep(self._intervals.retry_seconds)

    async def _wait_for_request_end(self) -> None:
        """Wait for the end, or for a silence longer than the idle heartbeat of the server."""
        while not self._is_request_ended:
            self._activity.clear()
            try:
                async with asyncio.timeout(self._intervals.pull_seconds / 2):
                    await self._activity.wait()
            except TimeoutError:
                return

    def _handle_status(self, status: str) -> None:
        if status != _HEARTBEAT_STATUS:
            self._has_failed = status not in _REQUEST_ENDED_STATUSES
            self._end_request()

    def _end_request(self) -> None:
        self._is_request_ended = True
        self._activity.set()

    async def _start(self, delivery: Delivery) -> None:
        if self._tasks is None or self._slots.free <= 0 or not self._can_start():
            await self._return_to_queue(delivery)
            return
        self._slots.acquire()
        self._tasks.create_task(self._process(delivery))

    def _can_start(self) -> bool:
        return self._framework.healthy.is_set() and not self.is_draining

    async def _return_to_queue(self, delivery: Delivery) -> None:
        try:
            await self._jetstream.acknowledge(
                delivery.reply, nak_with_delay(self._intervals.retry_seconds)
            )
        except QueueError:
            log.info("not_given_back")  # it is redelivered after its ack wait

    async def _process(self, delivery: Delivery) -> None:
        try:
            await self._dispatch(delivery)
        finally:
            self._slots.release()
