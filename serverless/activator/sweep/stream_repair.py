"""Makes again what somebody has deleted at the queue while we were connected."""

import logging
from collections.abc import Callable
from typing import Final

from serverless.activator.workers.queue_resources import QueueResources
from serverless.nats.requests import JetStreamClient, JsonObject
from serverless.nats.stream_setup import create_stream, list_stream_names

INTERVAL_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class StreamRepair:
    """Looks which streams there are; `changed` is told which functions have lost their bucket.

    It makes what is missing and changes nothing: what is otherwise may be the newer wish of a
    process with another configuration. Consumers are missed by Depths.
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
        """One look."""
        there = await list_stream_names(self._jetstream)
        for each in self._stream_configs:
            if each["name"] not in there:
                log.warning("stream_missing", extra={"stream": each["name"]})
                await create_stream(self._jetstream, each)
        for request_id in self._queue_resources.missing_buckets(there):
            self._on_change(request_id)
