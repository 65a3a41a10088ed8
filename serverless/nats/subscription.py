"""A subscription that outlives the connection it was made on."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from controller.runtime.clock import Clock
from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError, request_error_of

RETRY_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class ReconnectingSubscription:
    """Calls `hear` with each message; with a `group`, each goes to one listener of it."""

    def __init__(
        self,
        connection: QueueConnection,
        subject: str,
        handle: Callable[[Msg], Awaitable[None]],
        clock: Clock,
        queue_group: str = "",
    ) -> None:
        self._connection = connection
        self._subject = subject
        self._handle = handle
        self._clock = clock
        self._queue_group = queue_group

    async def run(self) -> None:
        """Listen for ever; a client that connects again keeps its subscriptions by itself."""
        epoch, heard_on = 0, None
        while True:
            epoch = await self._connection.wait_for_connect(epoch)
            try:
                heard_on = await self._subscribe(heard_on)
            except UnavailableError as error:
                about = {"subject": self._subject, "queueError": str(error)}
                log.warning("not_listening", extra=about)
                await self._clock.sleep(RETRY_SECONDS)
                epoch -= 1

    async def _subscribe(self, subscribed_client: Client | None) -> Client:
        client = self._connection.client
        if client is not subscribed_client:
            try:
                with preserve_cancellation():
                    await client.subscribe(self._subject, queue=self._queue_group, cb=self._handle)
            except (nats.errors.Error, OSError) as error:
                raise request_error_of(error, self._subject) from error
        return client
