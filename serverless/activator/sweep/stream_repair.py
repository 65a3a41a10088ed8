"""Creates the streams on every connect, and recreates those that are deleted later."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from controller.runtime import Clock
from serverless.activator.workers.queue_resources import QueueResources
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import QueueError
from serverless.nats.requests import JetStreamClient, JsonObject
from serverless.nats.stream_setup import create_stream, ensure_stream, list_stream_names

INTERVAL_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class StreamSetup:
    """Creates or updates all streams after each connect: NATS may have lost its disk.

    Ready once all streams existed.
    """

    def __init__(
        self, connection: QueueConnection, stream_configs: tuple[JsonObject, ...], clock: Clock
    ) -> None:
        self._connection = connection
        self._jetstream = JetStreamClient(connection)
        self._stream_configs = stream_configs
        self._clock = clock
        self._ready = asyncio.Event()
        self._last_error = "not checked yet"

    def not_ready(self) -> list[str]:
        """Return why streams may be missing; empty once all of them existed."""
        return [] if self._ready.is_set() else [f"the streams are not ready: {self._last_error}"]

    async def synced(self) -> None:
        """Wait until all streams exist."""
        await self._ready.wait()

    async def run(self) -> None:
        """Ensure the streams after each connect until cancelled."""
        connect_count = 0
        while True:
            connect_count = await self._connection.wait_for_connect(connect_count)
            try:
                for config in self._stream_configs:
                    await ensure_stream(self._jetstream, config)
            except QueueError as error:
                self._last_error = str(error)
                log.warning("streams_not_ensured", extra={"queueError": str(error)})
                await self._clock.sleep(RETRY_SECONDS)
                connect_count -= 1
            else:
                self._ready.set()


class StreamRepair:
    """Recreates deleted streams; calls `on_change` with each function whose bucket is missing.

    It never updates a stream: a different configuration may be the newer one of another process.
    Missing consumers are found by `QueueDepths`.
    """

    def __init__(
        self,
        jetstream: JetStreamClient,
        stream_configs: tuple[JsonObject, ...],
        queue_resources: QueueResources,
        on_change: Callable[[str], None],
    ) -> None:
        self._jetstream = jetstream
        self._stream_configs = stream_configs
        self._queue_resources = queue_resources
        self._on_change = on_change

    async def run_round(self) -> None:
        """Create what is missing now."""
        existing = await list_stream_names(self._jetstream)
        for config in self._stream_configs:
            if config["name"] not in existing:
                log.warning("stream_missing", extra={"stream": config["name"]})
                await create_stream(self._jetstream, config)
        for function_name in self._queue_resources.missing_buckets(existing):
            self._on_change(function_name)
