"""Keeps the streams what they shall be, after every connect."""

import asyncio
import logging
from typing import Final

from controller.runtime.clock import Clock
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStream, Wire
from serverless.nats.stream_setup import ensure_stream

AGAIN_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class Streams:
    """Ready once all streams are there; a queue that has lost them gets them again."""

    def __init__(self, connection: QueueConnection, wanted: tuple[Wire, ...], clock: Clock) -> None:
        self._connection = connection
        self._jetstream = JetStream(connection)
        self._wanted = wanted
        self._clock = clock
        self._there = asyncio.Event()
        self._trouble = "they have not been asked for yet"

    def not_ready(self) -> list[str]:
        """Why there may be no streams; nothing once they were there."""
        return [] if self._there.is_set() else [f"the streams are not ready: {self._trouble}"]

    async def synced(self) -> None:
        """Wait until all streams are there."""
        await self._there.wait()

    async def run(self) -> None:
        """Look after every connect, until all are right."""
        epoch = 0
        while True:
            epoch = await self._connection.newer_than(epoch)
            try:
                for each in self._wanted:
                    await ensure_stream(self._jetstream, each)
            except QueueError as error:
                self._trouble = str(error)
                log.warning("streams_not_ensured", extra={"queueError": str(error)})
                await self._clock.sleep(AGAIN_SECONDS)
                epoch -= 1
            else:
                self._there.set()
