"""The connection to the queue, kept up for ever."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.close import leave
from serverless.nats.credentials import Access, AccessSource, shown
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue

PING_SECONDS: Final = 10
RECONNECT_SECONDS: Final = 1

Listener = Callable[[Msg], Awaitable[None]]

log = logging.getLogger(__name__)


class Connection:
    """Connects, listens, and begins anew also after the server has thrown us out."""

    def __init__(self, queue: Queue, source: AccessSource, pace: Pace) -> None:
        self._queue = queue
        self._source = source
        self._pace = pace

    async def run(
        self, listeners: Mapping[str, Listener], on_connected: Callable[[], None]
    ) -> None:
        """For ever; `on_connected` is called after every connect, also a repeated one."""
        while True:
            try:
                await self._until_closed(self._source(), listeners, on_connected)
            except (nats.errors.Error, OSError, TimeoutError) as error:
                log.warning("queue_unreachable", extra={"reason": str(error) or repr(error)})
            await asyncio.sleep(self._pace.retry)

    async def _until_closed(
        self,
        access: Access,
        listeners: Mapping[str, Listener],
        on_connected: Callable[[], None],
    ) -> None:
        client, closed = Client(), asyncio.Event()

        async def told_closed() -> None:
            closed.set()

        async def told_connected() -> None:
            log.info("queue_connected", extra={"url": shown(access.url)})
            on_connected()

        try:
            with heeding_cancellation():
                await client.connect(
                    access.url,
                    name="gpu-runtime-worker",
                    user=access.user or None,
                    password=access.password or None,
                    inbox_prefix=access.inbox_prefix.encode(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=RECONNECT_SECONDS,
                    ping_interval=PING_SECONDS,
                    error_cb=_told_error,
                    disconnected_cb=_told_lost,
                    reconnected_cb=told_connected,
                    closed_cb=told_closed,
                )
                for subject, listener in listeners.items():
                    await client.subscribe(subject, cb=listener)
            self._queue.use(client)
            await told_connected()
            await closed.wait()
        finally:
            self._queue.use(None)
            await leave(client)


async def _told_error(error: Exception) -> None:
    log.warning("queue_error", extra={"reason": str(error) or repr(error)})


async def _told_lost() -> None:
    log.warning("queue_lost")
