"""Keeps the streams what they shall be, after every connect."""

import asyncio
import logging
from typing import Final

from controller.runtime.clock import Clock
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient, JsonObject
from serverless.nats.stream_setup import ensure_stream

RETRY_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class StreamSetup:
    """Ready once all streams are there; a queue that has lost them gets them again."""

    def __init__(
        self, connection: QueueConnection, stream_configs: tuple[JsonObject, ...], clock: Clock
    ) -> None:
        self._connection = connection
        self._jetstream = JetStreamClient(connection)
        self._stream_configs = stream_configs
        self._clock = clock
        self._ready = asyncio.Event()
        self._last_error = "they have not been asked for yet"

    def not_ready(self) -> list[str]:
        """Why there may be no streams; nothing once they were there."""
        return [] if self._ready.is_set() else [f"the streams are not ready: {self._last_error}"]

    async def synced(self) -> None:
        """Wait until all streams are there."""
        await self._ready.wait()

    async def run(self) -> None:
        """Look after every connect, until all are right."""
        epoch = 0
        while True:
            epoch = await self._connection.wait_for_connect(epoch)
            try:
                for each in self._stream_configs:
                    await ensure_stream(self._jetstream, each)
            except QueueError as error:
                self._last_error = str(error)
                log.warning("streams_not_ensured", extra={"queueError": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
                epoch -= 1
            else:
                self._ready.set()
