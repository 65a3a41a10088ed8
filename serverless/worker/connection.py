"""The connection to the queue, kept up for ever."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.close import close_quietly
from serverless.nats.credentials import CredentialsSource, NATSCredentials, redact_url
from serverless.worker.intervals import Intervals
from serverless.worker.jetstream import WorkerJetStream

PING_INTERVAL_SECONDS: Final = 10
RECONNECT_WAIT_SECONDS: Final = 1

MessageHandler = Callable[[Msg], Awaitable[None]]

log = logging.getLogger(__name__)


class WorkerConnection:
    """Connects, listens, and begins anew also after the server has thrown us out."""

    def __init__(
        self,
        jetstream: WorkerJetStream,
        credentials_source: CredentialsSource,
        intervals: Intervals,
    ) -> None:
        self._jetstream = jetstream
        self._credentials_source = credentials_source
        self._intervals = intervals

    async def run(
        self, handlers: Mapping[str, MessageHandler], on_connected: Callable[[], None]
    ) -> None:
        """For ever; `on_connected` is called after every connect, also a repeated one."""
        while True:
            try:
                await self._connect_until_closed(self._credentials_source(), handlers, on_connected)
            except (nats.errors.Error, OSError, TimeoutError) as error:
                log.warning("queue_unreachable", extra={"reason": str(error) or repr(error)})
            await asyncio.sleep(self._intervals.retry_seconds)

    async def _connect_until_closed(
        self,
        credentials: NATSCredentials,
        handlers: Mapping[str, MessageHandler],
        on_connected: Callable[[], None],
    ) -> None:
        client, closed = Client(), asyncio.Event()

        async def told_closed() -> None:
            closed.set()

        async def told_connected() -> None:
            log.info("queue_connected", extra={"url": redact_url(credentials.url)})
            on_connected()

        try:
            with preserve_cancellation():
                await client.connect(
                    credentials.url,
                    name="gpu-runtime-worker",
                    user=credentials.user or None,
                    password=credentials.password or None,
                    inbox_prefix=credentials.inbox_prefix.encode(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=RECONNECT_WAIT_SECONDS,
                    ping_interval=PING_INTERVAL_SECONDS,
                    error_cb=_on_error,
                    disconnected_cb=_on_disconnected,
                    reconnected_cb=told_connected,
                    closed_cb=told_closed,
                )
                for subject, listener in handlers.items():
                    await client.subscribe(subject, cb=listener)
            self._jetstream.set_client(client)
            await told_connected()
            await closed.wait()
        finally:
            self._jetstream.set_client(None)
            await close_quietly(client)


async def _on_error(error: Exception) -> None:
    log.warning("queue_error", extra={"reason": str(error) or repr(error)})


async def _on_disconnected() -> None:
    log.warning("queue_lost")
