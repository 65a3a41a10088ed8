"""Pulling messages: never more than there are free slots, with one request at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from serverless.worker.consume.slots import Slots
from serverless.worker.delivery import Delivery, delivery, refused
from serverless.worker.framework.health import FrameworkWatch
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.jetstream_errors import QueueError

# A request of ours has simply ended; after any other word something is wrong, and we wait.
_ENDED: Final = frozenset({"404", "408"})
_HEARTBEAT: Final = "100"

log = logging.getLogger(__name__)


class Puller:
    """Asks for as many messages as can run, and starts each as it comes."""

    def __init__(
        self,
        queue: Queue,
        slots: Slots,
        watch: FrameworkWatch,
        pace: Pace,
        receive: Callable[[Delivery], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._slots = slots
        self._watch = watch
        self._pace = pace
        self._receive = receive
        self._work: asyncio.TaskGroup | None = None
        self._awaited = 0
        self._trouble = False
        self._is_over = False
        self._news = asyncio.Event()
        self.is_draining = False

    def drain(self) -> None:
        """Pull no more; what comes still goes back to others."""
        self.is_draining = True
        self._slots.changed.set()
        self._end()

    def start_over(self) -> None:
        """The connection is new: nobody knows of our request any more."""
        self._end()

    async def run(self, request_id: str, inbox: str) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            self._work = group
            try:
                await self._pull_for_ever(request_id, inbox)
            finally:
                self._work = None

    async def arrived(
        self, subject: str, reply: str, data: bytes, headers: Mapping[str, str]
    ) -> None:
        """Something has come to our inbox: a message, or a word about our request."""
        self._news.set()
        if not reply or "Status" in headers:
            self._take_word(headers.get("Status", ""))
            return
        self._awaited -= 1
        if self._awaited <= 0:
            self._end()
        await self._take(delivery(subject, reply, data, headers))

    async def _pull_for_ever(self, request_id: str, inbox: str) -> None:
        while True:
            await self._watch.healthy.wait()
            free = await self._slots.some()
            if self.is_draining:
                await asyncio.Event().wait()
            await self._pull(request_id, inbox, free)

    async def _pull(self, request_id: str, inbox: str, batch: int) -> None:
        self._awaited, self._is_over, self._trouble = batch, False, False
        try:
            await self._queue.pull(request_id, inbox, batch, self._pace.pull)
        except QueueError:
            self._trouble = True
        else:
            await self._end_of_request()
        if self._trouble:
            await asyncio.sleep(self._pace.retry)

    async def _end_of_request(self) -> None:
        """Wait for it, or for a silence that is longer than the server's heartbeat."""
        while not self._is_over:
            self._news.clear()
            try:
                async with asyncio.timeout(self._pace.pull / 2):
                    await self._news.wait()
            except TimeoutError:
                return

    def _take_word(self, status: str) -> None:
        if status != _HEARTBEAT:
            self._trouble = status not in _ENDED
            self._end()

    def _end(self) -> None:
        self._is_over = True
        self._news.set()

    async def _take(self, given: Delivery) -> None:
        if self._work is None or self._slots.free <= 0 or not self._may_begin():
            await self._give_back(given)
            return
        self._slots.take()
        self._work.create_task(self._run(given))

    def _may_begin(self) -> bool:
        return self._watch.healthy.is_set() and not self.is_draining

    async def _give_back(self, given: Delivery) -> None:
        try:
            await self._queue.answer(given.reply, refused(self._pace.retry))
        except QueueError:
            log.info("not_given_back")  # it comes again when its ack wait is over

    async def _run(self, given: Delivery) -> None:
        try:
            await self._receive(given)
        finally:
            self._slots.give_back()
