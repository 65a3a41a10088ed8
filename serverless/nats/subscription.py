"""A subscription that outlives the connection it was made on."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from controller.runtime.clock import Clock
from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError, unavailable

AGAIN_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class Listening:
    """Calls `hear` with each message; with a `group`, each goes to one listener of it."""

    def __init__(
        self,
        connection: QueueConnection,
        subject: str,
        hear: Callable[[Msg], Awaitable[None]],
        clock: Clock,
        group: str = "",
    ) -> None:
        self._connection = connection
        self._subject = subject
        self._hear = hear
        self._clock = clock
        self._group = group

    async def run(self) -> None:
        """Listen for ever; a client that connects again keeps its subscriptions by itself."""
        epoch, heard_on = 0, None
        while True:
            epoch = await self._connection.newer_than(epoch)
            try:
                heard_on = await self._listen(heard_on)
            except UnavailableError as error:
                about = {"subject": self._subject, "queueError": str(error)}
                log.warning("not_listening", extra=about)
                await self._clock.sleep(AGAIN_SECONDS)
                epoch -= 1

    async def _listen(self, heard_on: Client | None) -> Client:
        client = self._connection.client
        if client is not heard_on:
            try:
                with heeding_cancellation():
                    await client.subscribe(self._subject, queue=self._group, cb=self._hear)
            except (nats.errors.Error, OSError) as error:
                raise unavailable(error, self._subject) from error
        return client
