"""A subscription that is renewed on each new client of a connection."""

import logging
from typing import Final

import nats.errors
from nats.aio.client import Client

from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.connection import MessageHandler, QueueConnection
from serverless.nats.errors import UnavailableError, request_error_of
from shared.clock import Clock

RETRY_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class ReconnectingSubscription:
    """Calls `handle` with each message; in a queue group, one subscriber gets each message."""

    def __init__(
        self,
        connection: QueueConnection,
        subject: str,
        handle: MessageHandler,
        clock: Clock,
        queue_group: str = "",
    ) -> None:
        self._connection = connection
        self._subject = subject
        self._handle = handle
        self._clock = clock
        self._queue_group = queue_group

    async def run(self) -> None:
        """Stay subscribed until cancelled; a reconnecting client keeps its subscriptions."""
        connect_count, subscribed_client = 0, None
        while True:
            connect_count = await self._connection.wait_for_connect(connect_count)
            try:
                subscribed_client = await self._subscribe(subscribed_client)
            except UnavailableError as error:
                fields = {"subject": self._subject, "queueError": str(error)}
                log.warning("not_listening", extra=fields)
                await self._clock.sleep(RETRY_SECONDS)
                connect_count -= 1

    async def _subscribe(self, subscribed_client: Client | None) -> Client:
        client = self._connection.client
        if client is not subscribed_client:
            try:
                with preserve_cancellation():
                    await client.subscribe(self._subject, queue=self._queue_group, cb=self._handle)
            except (nats.errors.Error, OSError) as error:
                raise request_error_of(error, self._subject) from error
        return client
