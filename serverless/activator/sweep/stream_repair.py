"""Makes again what somebody has deleted at the queue while we were connected."""

import logging
from collections.abc import Callable
from typing import Final

from serverless.activator.workers.queue_resources import Outfit
from serverless.nats.requests import JetStream, Wire
from serverless.nats.stream_setup import create_stream, stream_names

ROUND_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class Upkeep:
    """Looks which streams there are; `changed` is told which functions have lost their bucket.

    It makes what is missing and changes nothing: what is otherwise may be the newer wish of a
    process with another configuration. Consumers are missed by Depths.
    """

    def __init__(
        self,
        jetstream: JetStream,
        wanted: tuple[Wire, ...],
        outfit: Outfit,
        changed: Callable[[str], None],
    ) -> None:
        self._jetstream = jetstream
        self._wanted = wanted
        self._outfit = outfit
        self._changed = changed

    async def round(self) -> None:
        """One look."""
        there = await stream_names(self._jetstream)
        for each in self._wanted:
            if each["name"] not in there:
                log.warning("stream_missing", extra={"stream": each["name"]})
                await create_stream(self._jetstream, each)
        for request_id in self._outfit.bereft(there):
            self._changed(request_id)
